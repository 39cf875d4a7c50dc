/**
 * Tool calls from the MCP endpoint to the control plane: a bounded table of calls that are under way.
 *
 * A3 a mutation is sent once; after a cut its outcome is unknown to the caller and is learned from the receipt
 * A4 every caller is answered: by the control plane, at its own deadline, or when the link or the supervisor ends
 * A5 a caller that goes away ends the observation; a mutation stays in the table until its outcome is known
 */
import { fail } from "@computerd/protocol/errors"
import type { RequestId } from "@computerd/protocol/ids"
import type { AdmissionAnswer, AdmissionRequest } from "@computerd/protocol/link"
import type { Journal } from "../journal.ts"
import type { UnfencedFrame } from "../link/dial.ts"
import type { LinkRequests } from "../link/link.ts"
import type { Cancel, Ports } from "../ports.ts"
import {
  type CallKind,
  idempotencyKeyOf,
  kindOf,
  notSent,
  outcomeUnknown,
  patienceMs,
  remaining,
  unanswered,
  waitOver,
} from "./call.ts"
import type { AdmissionJournal } from "./journal.ts"
import { createReconciliation } from "./settle.ts"

/** More than any control plane answers at once; each is small. */
export const callsMax = 4_096
/** With the link up the control plane ends a wait itself; this is for one that does not. */
const waitSlackMs = 2_000

export interface Admissions extends LinkRequests {
  readonly invoke: (request: AdmissionRequest, signal: AbortSignal) => Promise<AdmissionAnswer>
  readonly size: () => number
  /** Answers everybody; nothing is sent afterwards. */
  readonly close: () => void
}

export interface AdmissionsDeps {
  readonly ports: Ports
  readonly journal: Journal
  readonly entries: AdmissionJournal
  /** False when the link is not attached. */
  readonly send: (frame: UnfencedFrame) => boolean
}

interface Call {
  readonly requestId: RequestId
  readonly kind: CallKind
  readonly request: AdmissionRequest
  readonly deadlineMs: number
  /** A mutation is always `sent`; others become `unsent` when the link breaks, and go out again. */
  readonly progress: "sent" | "unsent"
  /** Absent: nobody waits any more (A5). */
  readonly observer: ((answer: AdmissionAnswer) => void) | undefined
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export const createAdmissions = ({ ports, journal, entries, send }: AdmissionsDeps): Admissions => {
  const { clock, timers, newId } = ports
  const calls = new Map<RequestId, Call>()
  let link: "down" | "up" | "closed" = "down"
  const reconciliation = createReconciliation({ entries, journal, newId, send })

  /** What was known is not lost when the disk is full: the entry stays uncertain and is asked for later. */
  const record = (during: string, work: () => void): void => {
    try {
      work()
    } catch (error) {
      journal.record({ event: "store_write_failed", during, message: messageOf(error) })
    }
  }

  const change = (call: Call, part: Partial<Call>): Call => {
    const next = { ...call, ...part }
    calls.set(call.requestId, next)
    return next
  }

  const finish = (call: Call, answer: AdmissionAnswer): void => {
    calls.delete(call.requestId)
    call.observer?.(answer)
  }

  /** Ends what the caller sees of a call that the control plane may still be working on. */
  const abandon = (call: Call, answer: AdmissionAnswer): void => {
    if (call.progress === "sent") send({ kind: "abandon", requestId: call.requestId })
    if (call.kind !== "mutation") {
      finish(call, answer)
      return
    }
    change(call, { observer: undefined })
    call.observer?.(answer)
  }

  const overdue = (call: Call): void => {
    switch (call.kind) {
      case "mutation":
        abandon(call, outcomeUnknown("the control plane has not answered in time"))
        break
      case "read":
        abandon(call, unanswered("the control plane has not answered in time"))
        break
      case "wait":
        abandon(call, waitOver)
    }
  }

  const dispatch = (call: Call): boolean => {
    const request =
      call.kind === "wait" ? remaining(call.request, call.deadlineMs - clock.monotonicMs()) : call.request
    const sent = send({ kind: "admit", requestId: call.requestId, request })
    if (sent) change(call, { progress: "sent" })
    return sent
  }

  /** Calls `overdue` at the deadline; a wait that the control plane holds gets a little longer. */
  const watch = (requestId: RequestId, delayMs: number): Cancel => {
    let cancel: Cancel = timers.after(delayMs, () => {
      const call = calls.get(requestId)
      if (call === undefined) return
      if (call.kind !== "wait" || call.progress === "unsent") {
        overdue(call)
        return
      }
      cancel = timers.after(waitSlackMs, () => {
        const late = calls.get(requestId)
        if (late !== undefined) overdue(late)
      })
    })
    return () => cancel()
  }

  /** The caller's promise: settled by an answer, the deadline or the caller itself, whichever is first. */
  const observe = (requestId: RequestId, signal: AbortSignal): Promise<AdmissionAnswer> =>
    new Promise((resolve) => {
      const call = calls.get(requestId)
      if (call === undefined) throw new Error("observed a call that is not in the table")
      const cancel = watch(requestId, call.deadlineMs - clock.monotonicMs())
      const leave = (): void => {
        const current = calls.get(requestId)
        if (current !== undefined) abandon(current, unanswered("the caller went away"))
      }
      signal.addEventListener("abort", leave, { once: true })
      change(call, {
        observer: (answer) => {
          cancel()
          signal.removeEventListener("abort", leave)
          resolve(answer)
        },
      })
    })

  const mutate = (call: Call, signal: AbortSignal): Promise<AdmissionAnswer> => {
    const { requestId, request } = call
    const key = idempotencyKeyOf(request)
    if (key === undefined)
      return Promise.resolve(fail("invalid_arguments", "idempotencyKey is required", "idempotencyKey"))
    if (link === "down") return Promise.resolve(notSent("the control plane is out of reach"))
    try {
      entries.write(requestId, request, key)
    } catch (error) {
      journal.record({ event: "store_write_failed", during: "admission", message: messageOf(error) })
      return Promise.resolve(notSent("the supervisor's store cannot record the call"))
    }
    calls.set(requestId, call)
    if (dispatch(call)) return observe(requestId, signal)
    calls.delete(requestId)
    record("admission", () => entries.settle(requestId, undefined))
    return Promise.resolve(notSent("the control plane is out of reach"))
  }

  const ask = (call: Call, signal: AbortSignal): Promise<AdmissionAnswer> => {
    calls.set(call.requestId, call)
    if (dispatch(call) || call.kind === "wait") return observe(call.requestId, signal)
    calls.delete(call.requestId)
    return Promise.resolve(notSent("the control plane is out of reach"))
  }

  const cut = (call: Call): void => {
    if (call.kind === "mutation") {
      const { sessionId, generation, tool } = call.request
      journal.record({ event: "admission_uncertain", sessionId, generation, tool })
      finish(call, outcomeUnknown("the link to the control plane broke"))
    } else change(call, { progress: "unsent" })
  }

  record("start", entries.doubt)
  return {
    invoke: (request, signal) => {
      if (link === "closed") return Promise.resolve(notSent("this supervisor is ending"))
      if (signal.aborted) return Promise.resolve(notSent("the caller went away"))
      if (calls.size >= callsMax) return Promise.resolve(notSent("too many calls are under way"))
      const kind = kindOf(request.tool)
      const deadlineMs = clock.monotonicMs() + patienceMs(kind, request)
      const call: Call = {
        requestId: newId("req"),
        kind,
        request,
        deadlineMs,
        progress: "unsent",
        observer: undefined,
      }
      return kind === "mutation" ? mutate(call, signal) : ask(call, signal)
    },
    size: () => calls.size,
    attached: () => {
      if (link === "closed") return
      link = "up"
      for (const call of [...calls.values()]) if (call.progress === "unsent") dispatch(call)
      reconciliation.attached()
    },
    lost: () => {
      if (link === "up") link = "down"
      reconciliation.lost()
      for (const call of [...calls.values()]) cut(call)
      record("link loss", entries.doubt)
    },
    answered: (requestId, answer) => {
      const call = calls.get(requestId)
      if (call === undefined) return
      if (call.kind === "mutation") record("admission", () => entries.settle(requestId, answer))
      finish(call, answer)
    },
    receipt: reconciliation.receipt,
    close: () => {
      link = "closed"
      for (const call of [...calls.values()])
        finish(
          call,
          call.kind === "mutation"
            ? outcomeUnknown("this supervisor ends")
            : unanswered("this supervisor ends"),
        )
    },
  }
}
