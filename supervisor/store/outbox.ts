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
  /** Moves every row after `after` up by `by`, and the numbering with it. */
  readonly renumber: (after: number, by: number) => void
}

export const outboxTable = (database: Database): OutboxTable => {
  const totals = database.query<OutboxTotals, []>(
    "SELECT last_event AS lastSeq, events, output_bytes AS outputBytes FROM link",
  )
  const insert = database.query("INSERT INTO outbox (seq, output_bytes, at_ms, body) VALUES (?, ?, ?, ?)")
  const moveLast = database.query("UPDATE link SET last_event = ?")
  const after = database.query<OutboxRow, [number, number]>(
    "SELECT seq, at_ms AS atMs, body FROM outbox WHERE seq > ? ORDER BY seq LIMIT ?",
  )
  const remove = database.query("DELETE FROM outbox WHERE seq <= ?")
  // Through the negative numbers, since neighbours would collide on the way up.
  const liftOut = database.query("UPDATE outbox SET seq = -(seq + ?) WHERE seq > ?")
  const putBack = database.query("UPDATE outbox SET seq = -seq WHERE seq < 0")
  const shiftLast = database.query("UPDATE link SET last_event = last_event + ?")
  return {
    totals: () => totals.get() ?? { lastSeq: 0, events: 0, outputBytes: 0 },
    push: ({ seq, atMs, body, outputBytes }) => {
      insert.run(seq, outputBytes, atMs, body)
      moveLast.run(seq)
    },
    after: (seq, limit) => after.all(seq, limit),
    removeThrough: (seq) => {
      remove.run(seq)
    },
    renumber: (seq, by) => {
      liftOut.run(by, seq)
      putBack.run()
      shiftLast.run(by)
    },
  }
}
