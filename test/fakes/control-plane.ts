/**
 * Stands for the control plane: the link server and the bundle download, over real sockets and with the real frames.
 * It applies events once and in order, as the real one does, and lets a test act at the instants that hurt: hooks see
 * each frame before it is answered and may cut, hold back or repeat.
 */
import type { Failure } from "@computerd/protocol/errors"
import { Epoch, type SessionId } from "@computerd/protocol/ids"
import {
  type AdmissionAnswer,
  bundlePath,
  decodeLinkUp,
  type LinkCommand,
  type LinkDownFrame,
  type LinkEvent,
  type LinkUpFrame,
  linkParkedCode,
  linkPath,
  linkProtocol,
} from "@computerd/protocol/link"
import type { Server, ServerWebSocket } from "bun"

type Desired = Extract<LinkDownFrame, { kind: "attached" }>["run"][number]
type Frame<Kind extends LinkUpFrame["kind"]> = Extract<LinkUpFrame, { kind: Kind }>

export interface FakeConnection {
  readonly send: (frame: LinkDownFrame) => void
  readonly sendText: (text: string) => void
  /** Without a close handshake, as a broken network does. */
  readonly cut: () => void
  /** As for a Computer that is parked. */
  readonly park: () => void
}

/** `handled`: the test has dealt with the frame. */
type Hook<Kind extends LinkUpFrame["kind"]> = (
  frame: Frame<Kind>,
  connection: FakeConnection,
) => "handled" | undefined

export interface Hooks {
  attach: Hook<"attach"> | undefined
  frame: Hook<"frame"> | undefined
  renew: Hook<"renew"> | undefined
  admit: Hook<"admit"> | undefined
  receipt: Hook<"receipt"> | undefined
}

export interface FakeOptions {
  readonly credential: string
  readonly leaseMs?: number
  readonly renewMs?: number
}

export interface AppliedEvent {
  readonly seq: number
  readonly epoch: number
  readonly event: LinkEvent
}

interface SocketData {
  attached: boolean
}

export class FakeControlPlane {
  readonly hooks: Hooks = {
    attach: undefined,
    frame: undefined,
    renew: undefined,
    admit: undefined,
    receipt: undefined,
  }
  readonly frames: LinkUpFrame[] = []
  readonly applied: AppliedEvent[] = []
  readonly receipts = new Map<string, AdmissionAnswer>()
  readonly bundles = new Map<string, Uint8Array>()
  /** Every Session that is to live on this Computer, as `attached` states it. */
  readonly desired = new Map<SessionId, Desired>()
  epoch = Epoch.parse(1)
  /** Last event that was applied; a test may set it back or forth. */
  received = 0
  acknowledges = true
  answer: (frame: Frame<"admit">) => AdmissionAnswer | undefined = () => ({ ok: true, value: {} })
  readonly #commands: { readonly seq: number; readonly body: LinkCommand }[] = []
  readonly #waiting = new Set<() => void>()
  readonly #sockets = new Set<ServerWebSocket<SocketData>>()
  readonly #options: Required<FakeOptions>
  #server: Server<SocketData>
  #acknowledged = 0

  constructor(options: FakeOptions) {
    this.#options = { leaseMs: 60_000, renewMs: 15_000, ...options }
    this.#server = this.#listen(0)
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`
  }

  get commandSeq(): number {
    return this.#commands.length
  }

  get acknowledged(): number {
    return this.#acknowledged
  }

  get connections(): number {
    return this.#sockets.size
  }

  /** Makes a command durable and sends it. */
  command(body: LinkCommand): number {
    const frame = { seq: this.#commands.length + 1, body }
    this.#commands.push(frame)
    this.#want(body)
    this.broadcast({ kind: "frame", ...frame, ack: this.received })
    return frame.seq
  }

  #change(sessionId: SessionId, part: (desired: Desired) => Desired): void {
    const desired = this.desired.get(sessionId)
    if (desired !== undefined) this.desired.set(sessionId, part(desired))
  }

  /** What a command makes true of the desired state. */
  #want(command: LinkCommand): void {
    switch (command.type) {
      case "assign": {
        const known = this.desired.get(command.assignment.sessionId)
        this.desired.set(command.assignment.sessionId, {
          messages: [],
          ...known,
          assignment: command.assignment,
        })
        break
      }
      case "dispatch":
        this.#change(command.sessionId, (desired) => ({ ...desired, turn: command.turn }))
        break
      case "cancel_turn":
        this.#change(command.sessionId, (desired) => ({ ...desired, cancel: command.status }))
        break
      case "release":
        this.desired.delete(command.sessionId)
        break
      case "message":
      case "answer":
        break
    }
  }

  /** What an event makes true of it. */
  #note(event: LinkEvent): void {
    const idle = ({ assignment, messages }: Desired): Desired => ({ assignment, messages })
    if (event.type === "turn_settled") this.#change(event.sessionId, idle)
    if (event.type === "process_exited" && event.turnId !== undefined) this.#change(event.sessionId, idle)
    if (event.type === "process_starting")
      this.#change(event.sessionId, (desired) => ({
        ...desired,
        assignment: { ...desired.assignment, generation: event.generation },
      }))
  }

  broadcast(frame: LinkDownFrame): void {
    for (const socket of this.#sockets) if (socket.data.attached) socket.send(JSON.stringify(frame))
  }

  refuse(error: Failure): void {
    this.broadcast({ kind: "refuse", error })
  }

  cut(): void {
    for (const socket of this.#sockets) socket.terminate()
  }

  count<Kind extends LinkUpFrame["kind"]>(kind: Kind): readonly Frame<Kind>[] {
    return this.frames.filter((frame): frame is Frame<Kind> => frame.kind === kind)
  }

  /** Resolves once `holds` is true; looks again after each frame. */
  async until(holds: () => boolean, what: string, limitMs = 5_000): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const check = (): void => {
      if (holds()) resolve()
    }
    const limit = setTimeout(() => reject(new Error(`waited ${limitMs} ms for: ${what}`)), limitMs)
    const poll = setInterval(check, 10)
    this.#waiting.add(check)
    check()
    try {
      await promise
    } finally {
      clearTimeout(limit)
      clearInterval(poll)
      this.#waiting.delete(check)
    }
  }

  /** Goes away like a killed control plane; what it knows stays. */
  async down(): Promise<number> {
    const port = this.#server.port ?? 0
    this.cut()
    await this.#server.stop(true)
    return port
  }

  up(port: number): void {
    this.#server = this.#listen(port)
  }

  async close(): Promise<void> {
    await this.#server.stop(true)
  }

  #listen(port: number): Server<SocketData> {
    return Bun.serve<SocketData>({
      hostname: "127.0.0.1",
      port,
      development: false,
      fetch: (request, server) => this.#fetch(request, server),
      websocket: {
        open: (socket) => {
          this.#sockets.add(socket)
        },
        message: (socket, data) => this.#message(socket, data),
        close: (socket) => {
          this.#sockets.delete(socket)
        },
      },
    })
  }

  #fetch(request: Request, server: Server<SocketData>): Response | undefined {
    const { pathname } = new URL(request.url)
    if (request.headers.get("authorization") !== `Bearer ${this.#options.credential}`)
      return new Response(null, { status: 401 })
    if (pathname === linkPath)
      return server.upgrade(request, { data: { attached: false } })
        ? undefined
        : new Response(null, { status: 400 })
    const digest = [...this.bundles.keys()].find((key) => bundlePath(key) === pathname)
    const bundle = digest === undefined ? undefined : this.bundles.get(digest)
    return bundle === undefined ? new Response(null, { status: 404 }) : new Response(bundle)
  }

  #message(socket: ServerWebSocket<SocketData>, data: string | Buffer): void {
    const decoded = decodeLinkUp(data)
    if (decoded.kind === "invalid")
      throw new Error(`the supervisor sent an invalid frame: ${decoded.message}`)
    this.frames.push(decoded.frame)
    this.#handle(decoded.frame, {
      send: (frame) => {
        if (frame.kind === "attached") socket.data.attached = true
        socket.send(JSON.stringify(frame))
      },
      sendText: (text) => {
        socket.send(text)
      },
      cut: () => socket.terminate(),
      park: () => socket.close(linkParkedCode, "parked"),
    })
    for (const check of [...this.#waiting]) check()
  }

  #handle(frame: LinkUpFrame, connection: FakeConnection): void {
    switch (frame.kind) {
      case "attach":
        if (this.hooks.attach?.(frame, connection) !== "handled") this.#attach(connection)
        break
      case "frame":
        if (this.hooks.frame?.(frame, connection) !== "handled") this.#event(frame, connection)
        break
      case "ack":
        this.#acknowledged = Math.max(this.#acknowledged, frame.ack)
        break
      case "renew":
        if (this.hooks.renew?.(frame, connection) !== "handled")
          connection.send({ kind: "renewed", requestId: frame.requestId, lease: this.lease() })
        break
      case "admit":
        if (this.hooks.admit?.(frame, connection) !== "handled") this.admit(frame, connection)
        break
      case "receipt":
        if (this.hooks.receipt?.(frame, connection) !== "handled") this.#receipt(frame, connection)
        break
      case "abandon":
      case "detach":
      case "invalid":
        break
    }
  }

  lease(): { epoch: Epoch; leaseMs: number; renewMs: number } {
    return { epoch: this.epoch, leaseMs: this.#options.leaseMs, renewMs: this.#options.renewMs }
  }

  #attach(connection: FakeConnection): void {
    connection.send({
      kind: "attached",
      protocol: linkProtocol,
      lease: this.lease(),
      received: this.received,
      commandSeq: this.commandSeq,
      run: [...this.desired.values()],
    })
  }

  #event(frame: Frame<"frame">, connection: FakeConnection): void {
    if (frame.seq > this.received + 1) {
      connection.send({
        kind: "invalid",
        seq: frame.seq,
        message: `event ${frame.seq} after ${this.received}`,
      })
      connection.cut()
      return
    }
    if (frame.seq === this.received + 1) {
      this.received = frame.seq
      this.#note(frame.body)
      this.applied.push({ seq: frame.seq, epoch: frame.epoch, event: frame.body })
    }
    if (this.acknowledges) connection.send({ kind: "ack", ack: this.received })
  }

  /** Decides and answers as the real receiver would: a key's first answer is its receipt. */
  admit(frame: Frame<"admit">, connection: FakeConnection): void {
    const answer = this.decide(frame)
    if (answer !== undefined) connection.send({ kind: "admitted", requestId: frame.requestId, answer })
  }

  decide(frame: Frame<"admit">): AdmissionAnswer | undefined {
    const { idempotencyKey: key } = frame.request.arguments
    const retained = typeof key === "string" ? this.receipts.get(key) : undefined
    const answer = retained ?? this.answer(frame)
    if (typeof key === "string" && answer !== undefined) this.receipts.set(key, answer)
    return answer
  }

  #receipt(frame: Frame<"receipt">, connection: FakeConnection): void {
    const answer = this.receipts.get(frame.idempotencyKey)
    const { requestId } = frame
    connection.send(
      answer === undefined ? { kind: "receipt", requestId } : { kind: "receipt", requestId, answer },
    )
  }
}
