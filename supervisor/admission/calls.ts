/**
 * The calls that are under way: a bounded table from which every caller is answered, once.
 *
 * A4 every caller is answered: by the control plane, at its own deadline, or when the link or the supervisor ends
 * A5 a caller that goes away ends the observation; a mutation stays in the table until its outcome is known
 */
import type { RequestId } from "@computerd/protocol/ids"
import type { AdmissionAnswer, AdmissionRequest } from "@computerd/protocol/link"
import type { UnfencedFrame } from "../link/dial.ts"
import type { Cancel, Ports } from "../ports.ts"
import { type CallKind, outcomeUnknown, remaining, unanswered, waitOver } from "./call.ts"

/** More than any control plane answers at once; each is small. */
export const callsMax = 4_096
/** With the link up the control plane ends a wait itself; this is for one that does not. */
const waitSlackMs = 2_000
/** Timers count whole milliseconds. */
const restMinMs = 1

export interface Call {
  readonly requestId: RequestId
  readonly kind: CallKind
  readonly request: AdmissionRequest
  readonly deadlineMs: number
  /** A mutation is always `sent`; others become `unsent` when the link breaks, and go out again. */
  readonly progress: "sent" | "unsent"
  /** Absent: nobody waits any more (A5). */
  readonly observer: ((answer: AdmissionAnswer) => void) | undefined
}

export interface CallsDeps {
  readonly ports: Ports
  /** False when the link is not attached. */
  readonly send: (frame: UnfencedFrame) => boolean
}

const overdueAnswer = (kind: CallKind): AdmissionAnswer => {
  switch (kind) {
    case "mutation":
      return outcomeUnknown("the control plane has not answered in time")
    case "read":
      return unanswered("the control plane has not answered in time")
    case "wait":
      return waitOver
  }
}

export class Calls {
  readonly #deps: CallsDeps
  readonly #calls = new Map<RequestId, Call>()

  constructor(deps: CallsDeps) {
    this.#deps = deps
  }

  get size(): number {
    return this.#calls.size
  }

  get(requestId: RequestId): Call | undefined {
    return this.#calls.get(requestId)
  }

  all(): readonly Call[] {
    return [...this.#calls.values()]
  }

  /** Puts a call on the wire, for the time that is left to it; false when the link is not attached. */
  dispatch(call: Call): boolean {
    const { requestId, kind, deadlineMs } = call
    const leftMs = deadlineMs - this.#deps.ports.clock.monotonicMs()
    const request = kind === "wait" ? remaining(call.request, leftMs) : call.request
    const sent = this.#deps.send({ kind: "admit", requestId, request })
    this.#change(call, { progress: sent ? "sent" : "unsent" })
    return sent
  }

  /**
   * Sends a wait again whose own time is not over, although the control plane's is: this process or its Sessions stood
   * still meanwhile. False when nothing is left of it.
   */
  dispatchRest(call: Call): boolean {
    const leftMs = call.deadlineMs - this.#deps.ports.clock.monotonicMs()
    return leftMs >= restMinMs && this.dispatch(call)
  }

  /** The caller's promise: settled by an answer, the deadline or the caller itself, whichever is first. */
  observe(requestId: RequestId, signal: AbortSignal): Promise<AdmissionAnswer> {
    const { promise, resolve } = Promise.withResolvers<AdmissionAnswer>()
    const stopWatching = this.#watch(requestId)
    const leave = (): void => this.#abandon(requestId, () => unanswered("the caller went away"))
    signal.addEventListener("abort", leave, { once: true })
    const observer = (answer: AdmissionAnswer): void => {
      stopWatching()
      signal.removeEventListener("abort", leave)
      resolve(answer)
    }
    const call = this.#calls.get(requestId)
    if (call !== undefined) this.#change(call, { observer })
    return promise
  }

  /** Takes a call that was never sent out of the table. */
  drop({ requestId }: Call): void {
    this.#calls.delete(requestId)
  }

  finish(call: Call, answer: AdmissionAnswer): void {
    this.#calls.delete(call.requestId)
    call.observer?.(answer)
  }

  /** The connection that carried it is gone; it may be sent again on the next. */
  recall(call: Call): void {
    this.#change(call, { progress: "unsent" })
  }

  #change(call: Call, part: Partial<Call>): void {
    this.#calls.set(call.requestId, { ...call, ...part })
  }

  /** A wait that the control plane holds gets a little longer than its own time. */
  #watch(requestId: RequestId): Cancel {
    const { clock, timers } = this.#deps.ports
    const overdue = (): void => this.#abandon(requestId, ({ kind }) => overdueAnswer(kind))
    const due = (): void => {
      const call = this.#calls.get(requestId)
      if (call?.kind === "wait" && call.progress === "sent") cancel = timers.after(waitSlackMs, overdue)
      else overdue()
    }
    const deadlineMs = this.#calls.get(requestId)?.deadlineMs ?? 0
    let cancel = timers.after(deadlineMs - clock.monotonicMs(), due)
    return () => cancel()
  }

  /** Ends what the caller sees of a call that the control plane may still be working on. */
  #abandon(requestId: RequestId, answerFor: (call: Call) => AdmissionAnswer): void {
    const call = this.#calls.get(requestId)
    if (call === undefined) return
    if (call.progress === "sent") this.#deps.send({ kind: "abandon", requestId })
    if (call.kind === "mutation") this.#change(call, { observer: undefined })
    else this.#calls.delete(requestId)
    call.observer?.(answerFor(call))
  }
}
