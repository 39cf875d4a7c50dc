/**
 * Carries out one attempt over a WebSocket: feeds the machine of `attempt.ts` what happens on the socket, performs its
 * effects in order, and settles once with the outcome. Nothing of it outlives `ended`: its timers are cleared and
 * its socket is closed, by force when the peer does not answer the close.
 */
import type { Epoch } from "@computerd/protocol/ids"
import { decodeLinkDown, type LinkUpFrame } from "@computerd/protocol/link"
import type { Cancel, Timers } from "../ports.ts"
import {
  type AttemptEffect,
  type AttemptEvent,
  type AttemptPhase,
  initialPhase,
  transition,
} from "./attempt.ts"
import type { AttemptOutcome } from "./outcome.ts"

/** From the dial until `attached`. */
export const attachTimeoutMs = 15_000
/** The peer's part of a close; then the socket is cut. */
const closeTimeoutMs = 1_000

/** What the attempt does not carry out itself. A throw ends the attempt as `faulted`; the next one repeats it. */
export interface AttemptHandlers {
  readonly attach: () => LinkUpFrame
  readonly perform: (effect: Exclude<AttemptEffect, { do: "send_attach" | "send_ack" | "end" }>) => void
}

export interface DialOptions {
  /** `ws://…` or `wss://…`. */
  readonly url: string
  readonly credential: string
  readonly timers: Timers
  readonly handlers: AttemptHandlers
}

/** A frame before it gets the epoch of its connection (F1). */
export type UnfencedFrame = LinkUpFrame extends infer Frame
  ? Frame extends { readonly epoch: Epoch }
    ? Omit<Frame, "epoch">
    : never
  : never

export interface Attempt {
  readonly phase: () => AttemptPhase
  /** Puts a frame on the wire; false when the link is not attached. */
  readonly send: (frame: UnfencedFrame) => boolean
  readonly bufferedBytes: () => number
  /** Nothing was heard for too long. */
  readonly overdue: (detail: string) => void
  readonly stop: () => void
  readonly ended: Promise<AttemptOutcome>
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export const dial = ({ url, credential, timers, handlers }: DialOptions): Attempt => {
  const { promise: ended, resolve: settle } = Promise.withResolvers<AttemptOutcome>()
  let phase = initialPhase
  const socket = new WebSocket(url, { headers: { Authorization: `Bearer ${credential}` } })
  const deadline: Cancel = timers.after(attachTimeoutMs, () => {
    if (phase.phase !== "attached")
      step({ type: "overdue", detail: `no attachment within ${attachTimeoutMs} ms` })
  })

  const write = (frame: LinkUpFrame): void => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame))
  }

  const complain = ({ message, seq }: { readonly message: string; readonly seq?: number }): void =>
    write({ kind: "invalid", message, ...(seq === undefined ? {} : { seq }) })

  const close = (): void => {
    deadline()
    socket.close()
    const cut = timers.after(closeTimeoutMs, () => socket.terminate())
    socket.addEventListener("close", cut)
  }

  const send = (frame: UnfencedFrame): boolean => {
    if (phase.phase !== "attached" || socket.readyState !== WebSocket.OPEN) return false
    write({ ...frame, epoch: phase.epoch })
    return true
  }

  const perform = (effect: AttemptEffect): void => {
    switch (effect.do) {
      case "send_attach":
        write(handlers.attach())
        break
      case "send_ack":
        send({ kind: "ack", ack: effect.ack })
        break
      case "end":
        close()
        settle(effect.outcome)
        break
      case "complain":
        complain(effect)
        handlers.perform(effect)
        break
      default:
        handlers.perform(effect)
    }
  }

  const step = (event: AttemptEvent): void => {
    const { next, effects } = transition(phase, event)
    phase = next
    for (const effect of effects) {
      try {
        perform(effect)
      } catch (error) {
        step({ type: "faulted", detail: `${effect.do} failed: ${messageOf(error)}` })
        return
      }
    }
  }

  socket.addEventListener("open", () => step({ type: "opened" }))
  socket.addEventListener("message", ({ data }) => {
    if (typeof data !== "string") return step({ type: "unreadable", message: "frame is not text" })
    const decoded = decodeLinkDown(data)
    if (decoded.kind === "ok") return step({ type: "frame", frame: decoded.frame })
    step({
      type: "unreadable",
      message: decoded.message,
      ...(decoded.seq === undefined ? {} : { seq: decoded.seq }),
    })
  })
  socket.addEventListener("error", () => step({ type: "closed", detail: `no connection to ${url}` }))
  socket.addEventListener("close", ({ code, reason }) =>
    step({
      type: "closed",
      detail: reason === "" ? `closed with ${code}` : `closed with ${code}: ${reason}`,
    }),
  )

  return {
    phase: () => phase,
    send,
    bufferedBytes: () => socket.bufferedAmount,
    overdue: (detail) => step({ type: "overdue", detail }),
    stop: () => step({ type: "stop" }),
    ended,
  }
}
