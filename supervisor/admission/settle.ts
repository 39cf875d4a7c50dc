/**
 * Reconciles what a broken link left uncertain: after each attachment it asks the control plane for the receipts, a
 * bounded number at a time. It never sends a mutation again (A3): whoever made the call decides that.
 */
import type { NewId, RequestId } from "@computerd/protocol/ids"
import type { AdmissionAnswer } from "@computerd/protocol/link"
import type { Reach } from "../crash-points.ts"
import type { Journal } from "../journal.ts"
import type { UnfencedFrame } from "../link/dial.ts"
import type { UncertainAdmission } from "../store/admissions.ts"
import type { AdmissionJournal } from "./journal.ts"

/** Receipts asked for at once. */
const askedAtOnce = 32

export interface Reconciliation {
  readonly attached: () => void
  readonly lost: () => void
  /** Throws when the store cannot take the outcome: the admission is asked for again after the next attachment. */
  readonly receipt: (requestId: RequestId, answer: AdmissionAnswer | undefined) => void
}

export interface ReconciliationDeps {
  readonly entries: AdmissionJournal
  readonly journal: Journal
  readonly newId: NewId
  readonly send: (frame: UnfencedFrame) => boolean
  readonly reach: Reach
}

export const createReconciliation = (deps: ReconciliationDeps): Reconciliation => {
  const { entries, journal, newId, send, reach } = deps
  /** By the id of the question. */
  const asked = new Map<RequestId, UncertainAdmission>()

  const ask = (admission: UncertainAdmission): void => {
    const requestId = newId("req")
    const { sessionId, idempotencyKey } = admission
    if (!send({ kind: "receipt", requestId, sessionId, idempotencyKey })) return
    asked.set(requestId, admission)
    reach("receipt.after_request")
  }

  const askMore = (): void => {
    if (asked.size === 0) entries.uncertain(askedAtOnce).forEach(ask)
  }

  return {
    attached: askMore,
    lost: () => asked.clear(),
    receipt: (requestId, answer) => {
      const admission = asked.get(requestId)
      if (admission === undefined) return
      asked.delete(requestId)
      reach("receipt.before_settle")
      const { state } = entries.settle(admission.requestId, answer)
      reach("receipt.after_settle")
      journal.record({ event: "admission_reconciled", sessionId: admission.sessionId, state })
      askMore()
    },
  }
}
