/** Events that the control plane has not acknowledged, numbered. Totals are kept by the file's own triggers. */
import type { Database } from "bun:sqlite"

export interface OutboxRow {
  readonly seq: number
  readonly atMs: number
  /** JSON of a `LinkEvent`. */
  readonly body: string
}

export interface OutboxTotals {
  readonly lastSeq: number
  readonly events: number
  readonly outputBytes: number
}

export interface OutboxTable {
  readonly totals: () => OutboxTotals
  readonly push: (row: {
    readonly seq: number
    readonly atMs: number
    readonly body: string
    readonly outputBytes: number
  }) => void
  readonly after: (seq: number, limit: number) => readonly OutboxRow[]
  readonly removeThrough: (seq: number) => void
  readonly replace: (seq: number, body: string) => void
  /** Keeps a copy of one row, for people to look at. */
  readonly keepAside: (seq: number, reason: string) => void
  readonly remove: (seq: number) => void
  readonly countSetAside: () => number
  /** Keeps the newest `keep` of those. */
  readonly pruneSetAside: (keep: number) => void
  /** Moves every row after `after` up by `by`, and the numbering with it. */
  readonly renumber: (after: number, by: number) => void
  /** Events after this number have not been on the wire; unset: any may have been. */
  readonly unsentAfter: () => number | undefined
  readonly setUnsentAfter: (seq: number | undefined) => void
}

const statements = (database: Database) => ({
  totals: database.query<OutboxTotals, []>(
    "SELECT last_event AS lastSeq, events, output_bytes AS outputBytes FROM link",
  ),
  insert: database.query("INSERT INTO outbox (seq, output_bytes, at_ms, body) VALUES (?, ?, ?, ?)"),
  moveLast: database.query("UPDATE link SET last_event = ?"),
  after: database.query<OutboxRow, [number, number]>(
    "SELECT seq, at_ms AS atMs, body FROM outbox WHERE seq > ? ORDER BY seq LIMIT ?",
  ),
  removeThrough: database.query("DELETE FROM outbox WHERE seq <= ?"),
  replace: database.query("UPDATE outbox SET body = ? WHERE seq = ?"),
  keepAside: database.query(
    "INSERT INTO events_set_aside (at_ms, body, reason) SELECT at_ms, body, ? FROM outbox WHERE seq = ?",
  ),
  remove: database.query("DELETE FROM outbox WHERE seq = ?"),
  countAside: database.query<{ count: number }, []>("SELECT COUNT(*) AS count FROM events_set_aside"),
  pruneAside: database.query(
    `DELETE FROM events_set_aside WHERE position <= (
       SELECT position FROM events_set_aside ORDER BY position DESC LIMIT 1 OFFSET ?)`,
  ),
  // Through the negative numbers, since neighbours would collide on the way.
  liftOut: database.query("UPDATE outbox SET seq = -(seq + ?) WHERE seq > ?"),
  putBack: database.query("UPDATE outbox SET seq = -seq WHERE seq < 0"),
  shiftLast: database.query("UPDATE link SET last_event = last_event + ?"),
  unsentAfter: database.query<{ seq: number | null }, []>("SELECT unsent_after AS seq FROM link"),
  setUnsentAfter: database.query("UPDATE link SET unsent_after = ?"),
})

export const outboxTable = (database: Database): OutboxTable => {
  const sql = statements(database)
  return {
    totals: () => sql.totals.get() ?? { lastSeq: 0, events: 0, outputBytes: 0 },
    push: ({ seq, atMs, body, outputBytes }) => {
      sql.insert.run(seq, outputBytes, atMs, body)
      sql.moveLast.run(seq)
    },
    after: (seq, limit) => sql.after.all(seq, limit),
    removeThrough: (seq) => {
      sql.removeThrough.run(seq)
    },
    replace: (seq, body) => {
      sql.replace.run(body, seq)
    },
    keepAside: (seq, reason) => {
      sql.keepAside.run(reason, seq)
    },
    remove: (seq) => {
      sql.remove.run(seq)
    },
    countSetAside: () => sql.countAside.get()?.count ?? 0,
    pruneSetAside: (keep) => {
      sql.pruneAside.run(keep)
    },
    renumber: (seq, by) => {
      sql.liftOut.run(by, seq)
      sql.putBack.run()
      sql.shiftLast.run(by)
    },
    unsentAfter: () => sql.unsentAfter.get()?.seq ?? undefined,
    setUnsentAfter: (seq) => {
      sql.setUnsentAfter.run(seq ?? null)
    },
  }
}
