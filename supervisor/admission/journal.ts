/**
 * The admission journal: a mutating call is written down before it leaves the Computer and settled when its receipt
 * comes, so that a supervisor which dies in between still knows what to ask about.
 *
 * A1 no mutation leaves without its entry
 * A2 an entry is settled once, by the control plane's word alone
 */
import type { RequestId } from "@computerd/protocol/ids"
import type { AdmissionAnswer, AdmissionRequest } from "@computerd/protocol/link"
import type { Clock } from "../ports.ts"
import { type AdmissionOutcome, admissionsTable, type UncertainAdmission } from "../store/admissions.ts"
import type { Store } from "../store/open.ts"

/** Settled entries that are kept for whoever wants to look back. */
export const settledEntriesKept = 1_000
/** More than are ever under way at once; what a link that keeps breaking leaves uncertain is bounded by it. */
export const openEntriesMax = 8_192
/** Pruning every time would cost more than the rows do. */
const pruneEvery = 100

export interface AdmissionJournal {
  /** Throws when the store cannot take it: then the call must not leave (A1). */
  readonly write: (requestId: RequestId, request: AdmissionRequest, idempotencyKey: string) => void
  readonly settle: (requestId: RequestId, answer: AdmissionAnswer | undefined) => AdmissionOutcome
  /** The link is gone, or this is a new run: nothing that was sent will be answered. */
  readonly doubt: () => void
  readonly uncertain: (limit: number) => readonly UncertainAdmission[]
}

export const outcomeOf = (answer: AdmissionAnswer | undefined): AdmissionOutcome => {
  if (answer === undefined) return { state: "absent" }
  return answer.ok ? { state: "admitted" } : { state: "refused", code: answer.error.code }
}

export const createAdmissionJournal = (store: Store, clock: Clock): AdmissionJournal => {
  const table = admissionsTable(store.database)
  let settledSincePruning = 0

  const prune = (): void => {
    settledSincePruning += 1
    if (settledSincePruning < pruneEvery) return
    settledSincePruning = 0
    table.prune(settledEntriesKept)
  }

  return {
    write: (requestId, { sessionId, generation, tool }, idempotencyKey) => {
      if (!store.hasRoom()) throw new Error("the disk is full: what room is left is for what ends")
      if (table.countOpen() >= openEntriesMax)
        throw new Error(`the outcome of ${openEntriesMax} calls is unknown; it is being asked for`)
      store.transaction(() =>
        table.add({ requestId, sessionId, generation, idempotencyKey, tool, sentAtMs: clock.wallMs() }),
      )
    },
    settle: (requestId, answer) => {
      const outcome = outcomeOf(answer)
      store.transaction(() => {
        table.settle(requestId, outcome, clock.wallMs())
        prune()
      })
      return outcome
    },
    doubt: () => store.transaction(table.doubtSent),
    uncertain: table.uncertain,
  }
}
