/**
 * Requests of one connection that are being answered: a bounded number at once. The end of the connection, or the
 * supervisor's `abandon`, ends the waiting; it never undoes what a request has done.
 *
 * RQ1 the outcome of a mutation is told even when nobody waits for it: the supervisor's journal does
 */
import { fail } from "@computerd/protocol/errors"
import type { RequestId } from "@computerd/protocol/ids"
import type { AdmissionAnswer } from "@computerd/protocol/link"

export interface Work {
  readonly requestId: RequestId
  readonly isMutation: boolean
  readonly perform: (signal: AbortSignal) => Promise<AdmissionAnswer>
  readonly answer: (answer: AdmissionAnswer) => void
}

export interface Requests {
  /** Performs the work and hands over its answer, unless the connection has ended meanwhile. */
  readonly start: (work: Work) => void
  readonly abandon: (requestId: RequestId) => void
  readonly end: () => void
}

/** 64 MCP calls of each Session process reach a supervisor at once; this is sixteen such Sessions. */
export const requestsMax = 1024

const crowded: AdmissionAnswer = fail(
  "admission_unavailable",
  "this Computer has too many calls under way; retry with the same idempotencyKey",
)
const repeated: AdmissionAnswer = fail(
  "admission_unavailable",
  "a request with this id is still under way; its answer comes to the first one",
)
const broken: AdmissionAnswer = fail(
  "admission_unavailable",
  "the control plane could not answer; retry with the same idempotencyKey",
)

export const createRequests = (failed: (error: unknown) => void, max = requestsMax): Requests => {
  const running = new Map<RequestId, AbortController>()
  let ended = false
  return {
    start: ({ requestId, isMutation, perform, answer }) => {
      if (ended) return
      if (running.has(requestId)) return answer(repeated)
      if (running.size >= max) return answer(crowded)
      const controller = new AbortController()
      running.set(requestId, controller)
      const finish = (result: AdmissionAnswer): void => {
        if (running.get(requestId) === controller) running.delete(requestId)
        // RQ1
        if (!ended && (isMutation || !controller.signal.aborted)) answer(result)
      }
      perform(controller.signal).then(finish, (error: unknown) => {
        if (!controller.signal.aborted) failed(error)
        finish(broken)
      })
    },
    abandon: (requestId) => {
      running.get(requestId)?.abort(new Error("nobody waits for this request any more"))
      running.delete(requestId)
    },
    end: () => {
      ended = true
      for (const controller of running.values()) controller.abort(new Error("the link has ended"))
      running.clear()
    },
  }
}
