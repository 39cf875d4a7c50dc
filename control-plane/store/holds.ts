import type { HoldKind } from "@computerd/protocol/content"
import type { HoldId, SessionId, TurnId } from "@computerd/protocol/ids"
import type { Hold } from "../rules/entities.ts"
import type { Sql } from "./sql.ts"
import { type Table, tableOf } from "./table.ts"

interface HoldRecord {
  readonly id: HoldId
  readonly session_id: SessionId
  readonly kind: HoldKind
  readonly placed_by: SessionId | null
  readonly gap_reason: string | null
  readonly gap_turn_id: TurnId | null
  readonly gap_generation: number | null
  readonly created_at: number
  readonly released_at: number | null
}

const holdOf = (record: HoldRecord): Hold => ({
  id: record.id,
  sessionId: record.session_id,
  kind: record.kind,
  placedBy: record.placed_by,
  gap:
    record.gap_reason === null || record.gap_generation === null
      ? null
      : { reason: record.gap_reason, turnId: record.gap_turn_id, generation: record.gap_generation },
  createdAt: record.created_at,
  releasedAt: record.released_at,
})

export interface Holds extends Table<Hold> {
  readonly get: (id: HoldId) => Hold | undefined
  readonly inForce: (session: SessionId) => readonly Hold[]
}

export const holdsOf = (sql: Sql): Holds => ({
  ...tableOf<Hold>(sql, {
    name: "holds",
    id: (row) => row.id,
    fixed: {
      session_id: (row) => row.sessionId,
      kind: (row) => row.kind,
      placed_by: (row) => row.placedBy,
      gap_reason: (row) => row.gap?.reason ?? null,
      gap_turn_id: (row) => row.gap?.turnId ?? null,
      gap_generation: (row) => row.gap?.generation ?? null,
      created_at: (row) => row.createdAt,
    },
    changing: { released_at: (row) => row.releasedAt },
  }),
  get: (id) => {
    const record = sql.get<HoldRecord>("select * from holds where id = $1", id)
    return record === undefined ? undefined : holdOf(record)
  },
  // Asked for with every decision about a Session: `order by` would take SQLite ten times as long as to find nothing.
  inForce: (session) =>
    sql
      .all<HoldRecord>("select * from holds where session_id = $1 and released_at is null", session)
      .map(holdOf)
      .toSorted((left, right) => (left.id < right.id ? -1 : 1)),
})
