/**
 * Stands for the supervisor's end of the Session channel (`supervisor/channel`): the real protocol over a real
 * WebSocket, for one Session process. Tests decide when it acknowledges, what it sends, when the line is cut, and
 * they wait for frames, never for time.
 */
import {
  type ChannelDown,
  type ChannelDownFrame,
  type ChannelUp,
  type ChannelUpFrame,
  channelProtocol,
  decodeChannelUp,
} from "@computerd/protocol/channel"
import { arrival, outboundFrames } from "@computerd/protocol/numbering"
import type { Server, ServerWebSocket } from "bun"

export type Up<Type extends ChannelUp["type"]> = Extract<ChannelUp, { type: Type }>

const waitMs = 60_000

export interface FakeSupervisorOptions {
  readonly secret: string
  readonly port?: number
  /** What `welcome` says instead of the truth. */
  readonly welcome?: (received: number) => ChannelDownFrame
}

interface Waiter {
  readonly check: () => boolean
  readonly resolve: () => void
}

/** What survives a restart of the supervisor: its cursor, its outbox and what it has applied. */
export interface Memory {
  received: number
  readonly outbound: ReturnType<typeof outboundFrames<ChannelDown>>
  /** Bodies in the order of their application. */
  readonly applied: ChannelUp[]
}

export const newMemory = (): Memory => ({ received: 0, outbound: outboundFrames<ChannelDown>(), applied: [] })

export class FakeSupervisor {
  readonly memory: Memory
  /** Every frame as it came, repeats included. */
  readonly frames: ChannelUpFrame[] = []
  readonly problems: string[] = []
  acknowledging = true
  answering = true
  connections = 0
  refusedUpgrades = 0
  readonly #options: FakeSupervisorOptions
  readonly #server: Server<undefined>
  readonly #waiters = new Set<Waiter>()
  #socket: ServerWebSocket<undefined> | undefined
  /** Runs as a frame arrives, before anything is done with it. */
  onFrame: (frame: ChannelUpFrame) => void = () => {}

  constructor(options: FakeSupervisorOptions, memory: Memory = newMemory()) {
    this.#options = options
    this.memory = memory
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: options.port ?? 0,
      development: false,
      fetch: (request, server) => {
        if (request.headers.get("authorization") !== `Bearer ${options.secret}`) {
          this.refusedUpgrades += 1
          this.#wake()
          return new Response("unauthorized", { status: 401 })
        }
        return server.upgrade(request, { data: undefined }) ? undefined : new Response("no", { status: 400 })
      },
      websocket: {
        open: (socket) => {
          this.connections += 1
          this.#socket = socket
          this.#wake()
        },
        message: (socket, data) => this.#hear(socket, data),
        close: (socket) => {
          if (this.#socket === socket) this.#socket = undefined
          this.#wake()
        },
      },
    })
  }

  get port(): number {
    return this.#server.port ?? 0
  }

  get url(): string {
    return `ws://127.0.0.1:${this.port}/`
  }

  get connected(): boolean {
    return this.#socket !== undefined
  }

  /** Numbers and keeps a frame, and sends it when there is a connection. */
  send(body: ChannelDown): number {
    const frame = this.memory.outbound.push(body)!
    this.raw({ kind: "frame", ...frame, ack: this.memory.received })
    return frame.seq
  }

  raw(frame: ChannelDownFrame | string): void {
    this.#socket?.send(typeof frame === "string" ? frame : JSON.stringify(frame))
  }

  /** Ends the connection without a closing handshake. */
  cut(): void {
    this.#socket?.terminate()
  }

  /** Everything of one type, as it was applied. */
  of<Type extends ChannelUp["type"]>(type: Type): Up<Type>[] {
    return this.memory.applied.filter((body): body is Up<Type> => body.type === type)
  }

  async next<Type extends ChannelUp["type"]>(type: Type, index = 0): Promise<Up<Type>> {
    await this.until(() => this.of(type).length > index, `${type} ${index}`)
    return this.of(type)[index]!
  }

  /** Waits for what frames and connections bring about. */
  async until(check: () => boolean, what: string): Promise<void> {
    if (check()) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter = { check, resolve }
    this.#waiters.add(waiter)
    const timer = setTimeout(() => {
      const seen = JSON.stringify(this.frames.slice(-5)).slice(0, 2_000)
      reject(
        new Error(`waited in vain for ${what}; last frames: ${seen}; problems: ${this.problems.join("; ")}`),
      )
    }, waitMs)
    try {
      await promise
    } finally {
      clearTimeout(timer)
      this.#waiters.delete(waiter)
    }
  }

  async close(): Promise<void> {
    await this.#server.stop(true)
  }

  #wake(): void {
    for (const waiter of this.#waiters) if (waiter.check()) waiter.resolve()
  }

  #hear(socket: ServerWebSocket<undefined>, data: string | Buffer): void {
    const decoded = decodeChannelUp(data)
    if (decoded.kind === "invalid") {
      this.problems.push(decoded.message)
      this.#wake()
      return
    }
    this.frames.push(decoded.frame)
    this.onFrame(decoded.frame)
    if (socket === this.#socket) this.#answer(socket, decoded.frame)
    this.#wake()
  }

  #answer(socket: ServerWebSocket<undefined>, frame: ChannelUpFrame): void {
    const { memory } = this
    switch (frame.kind) {
      case "hello":
        if (!this.answering) return
        socket.send(JSON.stringify(this.#welcome()))
        memory.outbound.acknowledge(frame.received)
        for (const one of memory.outbound.after(frame.received))
          socket.send(JSON.stringify({ kind: "frame", ...one, ack: memory.received }))
        return
      case "frame":
        memory.outbound.acknowledge(frame.ack)
        this.#take(socket, frame.seq, frame.body)
        return
      case "ack":
        memory.outbound.acknowledge(frame.ack)
        return
      case "ping":
        if (this.answering) socket.send(JSON.stringify({ kind: "pong" }))
        return
      case "pong":
      case "invalid":
        return
      default:
        frame satisfies never
    }
  }

  #welcome(): ChannelDownFrame {
    const { received } = this.memory
    return this.#options.welcome?.(received) ?? { kind: "welcome", protocol: channelProtocol, received }
  }

  #take(socket: ServerWebSocket<undefined>, seq: number, body: ChannelUp): void {
    const what = arrival(this.memory.received, seq)
    if (what === "gap") this.problems.push(`gap: ${seq} after ${this.memory.received}`)
    if (what === "apply") {
      this.memory.received = seq
      this.memory.applied.push(body)
    }
    if (this.acknowledging) socket.send(JSON.stringify({ kind: "ack", ack: this.memory.received }))
  }
}
