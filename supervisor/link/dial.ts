/**
 * Carries out one attempt over a socket: feeds the machine of `attempt.ts` what happens on the socket, performs its
 * effects in order, and settles once with the outcome. Nothing of it outlives `ended`: its timers are cleared and
 * its socket is closed, by force when the peer does not answer the close.
 */
import type { Epoch } from "@computerd/protocol/ids"
import { decodeLinkDown, type LinkUpFrame, linkParkedCode } from "@computerd/protocol/link"
import type { Cancel, Timers } from "../ports.ts"
import {
  type AttemptEffect,
  type AttemptEvent,
  type AttemptPhase,
  initialPhase,
  transition,
} from "./attempt.ts"
import type { AttemptOutcome } from "./outcome.ts"
import type { DialTarget, LinkSocket, LinkTransport } from "./transport.ts"

/** From the dial until `attached`. */
export const attachTimeoutMs = 15_000
/** The peer's part of a close; then the socket is cut. */
const closeTimeoutMs = 1_000

/** What is not done on the socket. */
export type DelegatedEffect = Exclude<AttemptEffect, { do: "send_attach" | "send_ack" | "end" }>

/** What the attempt does not carry out itself. A throw ends the attempt as `faulted`; the next one repeats it. */
export interface AttemptHandlers {
  readonly attach: () => LinkUpFrame
  readonly perform: (effect: DelegatedEffect) => void
}

export interface DialOptions {
  readonly target: DialTarget
  readonly transport: LinkTransport
  readonly timers: Timers
  readonly handlers: AttemptHandlers
}

/** A frame before it gets the epoch of its connection (F1). */
export type UnfencedFrame = LinkUpFrame extends infer Frame
  ? Frame extends { readonly epoch: Epoch }
    ? Omit<Frame, "epoch">
    : never
  : never

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const closedText = (code: number, reason: string): string =>
  reason === "" ? `closed with ${code}` : `closed with ${code}: ${reason}`

export class Attempt {
  readonly ended: Promise<AttemptOutcome>
  readonly #handlers: AttemptHandlers
  readonly #timers: Timers
  readonly #socket: LinkSocket
  readonly #cancelDeadline: Cancel
  readonly #settle: (outcome: AttemptOutcome) => void
  #phase: AttemptPhase = initialPhase
  #cancelClose: Cancel = () => undefined

  constructor({ target, transport, timers, handlers }: DialOptions) {
    const { promise, resolve } = Promise.withResolvers<AttemptOutcome>()
    this.ended = promise
    this.#settle = resolve
    this.#handlers = handlers
    this.#timers = timers
    this.#socket = this.#dial(target, transport)
    this.#cancelDeadline = timers.after(attachTimeoutMs, () => this.#attachOverdue())
  }

  /** Puts a frame on the wire; false when the link is not attached. */
  send(frame: UnfencedFrame): boolean {
    if (this.#phase.phase !== "attached" || !this.#socket.isOpen()) return false
    this.#write({ ...frame, epoch: this.#phase.epoch })
    return true
  }

  bufferedBytes(): number {
    return this.#socket.bufferedBytes()
  }

  /** Nothing was heard for too long. */
  overdue(detail: string): void {
    this.#step({ type: "overdue", detail })
  }

  stop(): void {
    this.#step({ type: "stop" })
  }

  #dial(target: DialTarget, transport: LinkTransport): LinkSocket {
    return transport.dial(target, {
      opened: () => this.#step({ type: "opened" }),
      heard: (data) => this.#hear(data),
      failed: () => this.#step({ type: "closed", detail: `no connection to ${target.url}` }),
      closed: (code, reason) => this.#closed(code, reason),
    })
  }

  #closed(code: number, reason: string): void {
    this.#cancelClose()
    const type = code === linkParkedCode ? "parked" : "closed"
    this.#step({ type, detail: closedText(code, reason) })
  }

  #hear(data: unknown): void {
    if (typeof data !== "string") {
      this.#step({ type: "unreadable", message: "frame is not text" })
      return
    }
    const decoded = decodeLinkDown(data)
    if (decoded.kind === "ok") this.#step({ type: "frame", frame: decoded.frame })
    else {
      const { message, seq } = decoded
      this.#step({ type: "unreadable", message, ...(seq !== undefined && { seq }) })
    }
  }

  #attachOverdue(): void {
    if (this.#phase.phase !== "attached") this.overdue(`no attachment within ${attachTimeoutMs} ms`)
  }

  #step(event: AttemptEvent): void {
    const { next, effects } = transition(this.#phase, event)
    this.#phase = next
    for (const effect of effects) {
      try {
        this.#perform(effect)
      } catch (error) {
        this.#step({ type: "faulted", detail: `${effect.do} failed: ${messageOf(error)}` })
        return
      }
    }
  }

  #perform(effect: AttemptEffect): void {
    switch (effect.do) {
      case "send_attach":
        this.#write(this.#handlers.attach())
        break
      case "send_ack":
        this.send({ kind: "ack", ack: effect.ack })
        break
      case "end":
        this.#close()
        this.#settle(effect.outcome)
        break
      case "complain": {
        const { message, seq } = effect
        this.#write({ kind: "invalid", message, ...(seq !== undefined && { seq }) })
        this.#handlers.perform(effect)
        break
      }
      default:
        this.#handlers.perform(effect)
    }
  }

  #write(frame: LinkUpFrame): void {
    if (this.#socket.isOpen()) this.#socket.send(JSON.stringify(frame))
  }

  #close(): void {
    this.#cancelDeadline()
    if (this.#socket.isClosed()) return
    this.#socket.close()
    this.#cancelClose = this.#timers.after(closeTimeoutMs, () => this.#socket.terminate())
  }
}
