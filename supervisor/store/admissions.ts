/** The admission journal: each mutating tool call, from before it leaves the Computer until its outcome is known. */
import type { Database } from "bun:sqlite"
import type { ErrorCode } from "@computerd/protocol/errors"
import { type Generation, RequestId, SessionId } from "@computerd/protocol/ids"

/**
 * `sent` an answer is awaited; `uncertain` the link broke before it came; then one of: `admitted`, `refused` with a
 * code, `absent` (it never reached a decision and never will).
 */
export type AdmissionOutcome =
  | { readonly state: "admitted" | "absent" }
  | { readonly state: "refused"; readonly code: ErrorCode }

export interface NewAdmission {
  readonly requestId: RequestId
  readonly sessionId: SessionId
  readonly generation: Generation
  readonly idempotencyKey: string
  readonly tool: string
  readonly sentAtMs: number
}

export interface UncertainAdmission {
  readonly requestId: RequestId
  readonly sessionId: SessionId
  readonly idempotencyKey: string
}

export interface AdmissionsTable {
  readonly add: (admission: NewAdmission) => void
  /** Everything that is `sent` becomes `uncertain`. */
  readonly doubtSent: () => void
  readonly uncertain: (limit: number) => readonly UncertainAdmission[]
  readonly settle: (requestId: RequestId, outcome: AdmissionOutcome, atMs: number) => void
  /** `sent` and `uncertain`. */
  readonly countOpen: () => number
  readonly count: () => { readonly open: number; readonly settled: number }
  /** Keeps the newest `keep` of the settled ones. */
  readonly prune: (keep: number) => void
}

interface UncertainColumns {
  request_id: string
  session_id: string
  idempotency_key: string
}

const settledStates = "('admitted', 'refused', 'absent')"

export const admissionsTable = (database: Database): AdmissionsTable => {
  const add = database.query(
    `INSERT INTO admissions (request_id, session_id, generation, idempotency_key, tool, state, sent_at_ms)
       VALUES (?, ?, ?, ?, ?, 'sent', ?)`,
  )
  const doubt = database.query("UPDATE admissions SET state = 'uncertain' WHERE state = 'sent'")
  const uncertain = database.query<UncertainColumns, [number]>(
    `SELECT request_id, session_id, idempotency_key FROM admissions
       WHERE state = 'uncertain' ORDER BY request_id LIMIT ?`,
  )
  const settle = database.query(
    `UPDATE admissions SET state = ?, code = ?, settled_at_ms = ?
       WHERE request_id = ? AND state IN ('sent', 'uncertain')`,
  )
  const countOpen = database.query<{ open: number }, []>(
    "SELECT COUNT(*) AS open FROM admissions WHERE state IN ('sent', 'uncertain')",
  )
  const count = database.query<{ open: number; settled: number }, []>(
    `SELECT COALESCE(SUM(state NOT IN ${settledStates}), 0) AS open,
       COALESCE(SUM(state IN ${settledStates}), 0) AS settled FROM admissions`,
  )
  const prune = database.query(
    `DELETE FROM admissions WHERE state IN ${settledStates} AND request_id <= (
       SELECT request_id FROM admissions WHERE state IN ${settledStates}
         ORDER BY request_id DESC LIMIT 1 OFFSET ?)`,
  )
  return {
    add: (admission) => {
      add.run(
        admission.requestId,
        admission.sessionId,
        admission.generation,
        admission.idempotencyKey,
        admission.tool,
        admission.sentAtMs,
      )
    },
    doubtSent: () => {
      doubt.run()
    },
    uncertain: (limit) =>
      uncertain.all(limit).map((row) => ({
        requestId: RequestId.parse(row.request_id),
        sessionId: SessionId.parse(row.session_id),
        idempotencyKey: row.idempotency_key,
      })),
    settle: (requestId, outcome, atMs) => {
      settle.run(outcome.state, outcome.state === "refused" ? outcome.code : null, atMs, requestId)
    },
    countOpen: () => countOpen.get()?.open ?? 0,
    count: () => count.get() ?? { open: 0, settled: 0 },
    prune: (keep) => {
      prune.run(keep)
    },
  }
}
