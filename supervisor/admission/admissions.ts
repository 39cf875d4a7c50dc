/**
 * Tool calls from the MCP endpoint to the control plane.
 *
 * A1 no mutation leaves without its journal entry
 * A3 a mutation is sent once; after a cut its outcome is unknown to the caller and is learned from the receipt
 */
import { fail } from "@computerd/protocol/errors"
import type { RequestId } from "@computerd/protocol/ids"
import type { AdmissionAnswer, AdmissionRequest } from "@computerd/protocol/link"
import type { Journal } from "../journal.ts"
import type { UnfencedFrame } from "../link/dial.ts"
import type { LinkRequests } from "../link/link.ts"
import type { Ports } from "../ports.ts"
import {
  idempotencyKeyOf,
  isTimeout,
  kindOf,
  notSent,
  outcomeUnknown,
  patienceMs,
  unanswered,
} from "./call.ts"
import { type Call, Calls, callsMax } from "./calls.ts"
import type { AdmissionJournal } from "./journal.ts"
import { createReconciliation, type Reconciliation } from "./settle.ts"

export interface AdmissionsDeps {
  /** Its time is that of Session processes, who wait. */
  readonly ports: Ports
  readonly journal: Journal
  readonly entries: AdmissionJournal
  /** False when the link is not attached. */
  readonly send: (frame: UnfencedFrame) => boolean
}

export type Invoke = (request: AdmissionRequest, signal: AbortSignal) => Promise<AdmissionAnswer>

const outOfReach = (): AdmissionAnswer => notSent("the control plane is out of reach")

export class Admissions implements LinkRequests {
  readonly #deps: AdmissionsDeps
  readonly #calls: Calls
  readonly #reconciliation: Reconciliation
  #link: "down" | "up" | "closed" = "down"

  constructor(deps: AdmissionsDeps) {
    const { entries, journal, send, ports } = deps
    this.#deps = deps
    this.#calls = new Calls(deps)
    this.#reconciliation = createReconciliation({ ...ports, entries, journal, send })
    // What an earlier run sent will not be answered to this one.
    this.#record("start", entries.doubt)
  }

  get size(): number {
    return this.#calls.size
  }

  /** What is sent is encoded before this returns, so that nothing the caller does afterwards can change it. */
  invoke(request: AdmissionRequest, signal: AbortSignal): Promise<AdmissionAnswer> {
    const hindrance = this.#hindrance(signal)
    if (hindrance !== undefined) return Promise.resolve(notSent(hindrance))
    const call = this.#newCall(request)
    const refused = call.kind === "mutation" ? this.#sendMutation(call) : this.#sendOther(call)
    return refused === undefined ? this.#calls.observe(call.requestId, signal) : Promise.resolve(refused)
  }

  attached(): void {
    if (this.#link === "closed") return
    this.#link = "up"
    for (const call of this.#calls.all()) if (call.progress === "unsent") this.#calls.dispatch(call)
    this.#reconciliation.attached()
  }

  lost(): void {
    if (this.#link === "up") this.#link = "down"
    this.#reconciliation.lost()
    for (const call of this.#calls.all()) this.#cut(call)
    this.#record("link loss", this.#deps.entries.doubt)
    this.#deps.ports.reach("admission.after_doubt")
  }

  answered(requestId: RequestId, answer: AdmissionAnswer): void {
    const call = this.#calls.get(requestId)
    if (call === undefined) return
    if (call.kind === "mutation") this.#settle(requestId, answer)
    if (call.kind === "wait" && isTimeout(answer) && this.#calls.dispatchRest(call)) return
    this.#calls.finish(call, answer)
  }

  receipt(requestId: RequestId, answer: AdmissionAnswer | undefined): void {
    this.#record("reconciliation", () => this.#reconciliation.receipt(requestId, answer))
  }

  /** Answers everybody; nothing is sent afterwards. */
  close(): void {
    this.#link = "closed"
    const why = "this supervisor ends"
    for (const call of this.#calls.all())
      this.#calls.finish(call, call.kind === "mutation" ? outcomeUnknown(why) : unanswered(why))
  }

  #hindrance(signal: AbortSignal): string | undefined {
    if (this.#link === "closed") return "this supervisor is ending"
    if (signal.aborted) return "the caller went away"
    return this.#calls.size >= callsMax ? "too many calls are under way" : undefined
  }

  #newCall(request: AdmissionRequest): Call {
    const { clock, newId } = this.#deps.ports
    const kind = kindOf(request.tool)
    const deadlineMs = clock.monotonicMs() + patienceMs(kind, request)
    return { requestId: newId("req"), kind, request, deadlineMs, progress: "unsent", observer: undefined }
  }

  /** Answers with the refusal when it could not be sent. */
  #sendMutation(call: Call): AdmissionAnswer | undefined {
    const key = idempotencyKeyOf(call.request)
    if (key === undefined) return fail("invalid_arguments", "idempotencyKey is required", "idempotencyKey")
    if (this.#link === "down") return outOfReach()
    const { entries, ports } = this.#deps
    ports.reach("admission.before_commit")
    if (!this.#record("admission", () => entries.write(call.requestId, call.request, key)))
      return notSent("the supervisor's store cannot record the call")
    ports.reach("admission.after_commit")
    if (this.#calls.dispatch(call)) {
      ports.reach("admission.after_send")
      return undefined
    }
    this.#calls.drop(call)
    this.#settle(call.requestId, undefined)
    return outOfReach()
  }

  /** A wait may begin without the link; it has its own time. */
  #sendOther(call: Call): AdmissionAnswer | undefined {
    if (this.#calls.dispatch(call) || call.kind === "wait") return undefined
    this.#calls.drop(call)
    return outOfReach()
  }

  #cut(call: Call): void {
    if (call.kind !== "mutation") {
      this.#calls.recall(call)
      return
    }
    const { sessionId, generation, tool } = call.request
    this.#deps.journal.record({ event: "admission_uncertain", sessionId, generation, tool })
    this.#calls.finish(call, outcomeUnknown("the link to the control plane broke"))
  }

  #settle(requestId: RequestId, answer: AdmissionAnswer | undefined): void {
    const { entries, ports } = this.#deps
    ports.reach("admission.before_settle")
    this.#record("admission", () => entries.settle(requestId, answer))
    ports.reach("admission.after_settle")
  }

  /** An entry that a full disk keeps from being settled stays uncertain and is asked for later. */
  #record(during: string, work: () => void): boolean {
    try {
      work()
      return true
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      this.#deps.journal.record({ event: "store_write_failed", during, message })
      return false
    }
  }
}
