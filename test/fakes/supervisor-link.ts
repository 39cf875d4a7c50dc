/**
 * Stands for the supervisor's end of the control-plane link (`supervisor/link`): a raw WebSocket that sends what a test
 * tells it to, well-formed or not. Tests wait for frames, never for time.
 */
import { type ComputerId, Epoch, type RequestId, type StoreId } from "@computerd/protocol/ids"
import {
  decodeLinkDown,
  type LinkDownFrame,
  type LinkEvent,
  type LinkUpFrame,
  linkPath,
  linkProtocol,
} from "@computerd/protocol/link"

export type Down<Kind extends LinkDownFrame["kind"]> = Extract<LinkDownFrame, { kind: Kind }>

const waitMs = 5_000

export interface SupervisorLinkOptions {
  /** `http://host:port` */
  readonly url: string
  readonly credential: string
  readonly computerId: ComputerId
  readonly storeId: StoreId
}

interface Waiter {
  readonly check: () => boolean
  readonly resolve: () => void
}

export class SupervisorLink {
  readonly frames: LinkDownFrame[] = []
  epoch = Epoch.parse(1)
  closed: { readonly code: number; readonly reason: string } | undefined
  #seq = 0
  readonly #socket: WebSocket
  readonly #options: SupervisorLinkOptions
  readonly #waiters = new Set<Waiter>()

  constructor(options: SupervisorLinkOptions) {
    this.#options = options
    const address = `${options.url.replace(/^http/, "ws")}${linkPath}`
    this.#socket = new WebSocket(address, { headers: { Authorization: `Bearer ${options.credential}` } })
    this.#socket.addEventListener("message", ({ data }) => {
      const decoded = decodeLinkDown(String(data))
      if (decoded.kind === "invalid") throw new Error(`the server sent an invalid frame: ${decoded.message}`)
      this.frames.push(decoded.frame)
      this.#look()
    })
    this.#socket.addEventListener("close", ({ code, reason }) => {
      this.closed = { code, reason }
      this.#look()
    })
  }

  #look(): void {
    for (const waiter of this.#waiters)
      if (waiter.check()) {
        this.#waiters.delete(waiter)
        waiter.resolve()
      }
  }

  async until(what: string, check: () => boolean): Promise<void> {
    if (check()) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter: Waiter = { check, resolve }
    this.#waiters.add(waiter)
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(new Error(`waited in vain for ${what}`)), waitMs)
    try {
      await Promise.race([promise, late])
    } finally {
      clearTimeout(timer)
      this.#waiters.delete(waiter)
    }
  }

  /** The n-th frame of a kind, from 1. */
  async frame<Kind extends LinkDownFrame["kind"]>(kind: Kind, n = 1): Promise<Down<Kind>> {
    const of = () => this.frames.filter((frame): frame is Down<Kind> => frame.kind === kind)
    await this.until(`${kind} ${n}`, () => of().length >= n)
    return of()[n - 1]!
  }

  async opened(): Promise<void> {
    if (this.#socket.readyState === WebSocket.OPEN) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#socket.addEventListener("open", () => resolve())
    this.#socket.addEventListener("error", () => reject(new Error("the link cannot be opened")))
    await promise
  }

  text(text: string): void {
    this.#socket.send(text)
  }

  send(frame: LinkUpFrame): void {
    this.text(JSON.stringify(frame))
  }

  attachFrame(changes: Partial<Extract<LinkUpFrame, { kind: "attach" }>> = {}): LinkUpFrame {
    return {
      kind: "attach",
      protocol: linkProtocol,
      computerId: this.#options.computerId,
      bootId: "boot",
      storeId: this.#options.storeId,
      lastEpoch: 0,
      received: 0,
      version: "0.0.0",
      processes: [],
      ...changes,
    }
  }

  async attach(received = 0): Promise<Down<"attached">> {
    await this.opened()
    this.send(this.attachFrame({ received }))
    const attached = await this.frame("attached")
    this.epoch = attached.lease.epoch
    return attached
  }

  event(body: LinkEvent, seq?: number): number {
    this.#seq = seq ?? this.#seq + 1
    this.send({ kind: "frame", epoch: this.epoch, seq: this.#seq, ack: 0, atMs: 0, body })
    return this.#seq
  }

  renew(requestId: RequestId): void {
    this.send({ kind: "renew", epoch: this.epoch, requestId })
  }

  async ended(): Promise<{ readonly code: number; readonly reason: string }> {
    await this.until("the end of the link", () => this.closed !== undefined)
    return this.closed!
  }

  /** Without a close handshake, as a broken network does. */
  cut(): void {
    this.#socket.terminate()
  }

  close(): void {
    this.#socket.close()
  }
}
