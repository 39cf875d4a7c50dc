/**
 * The process of each Session: what identifies it after a restart of the supervisor, and the state of its channel.
 * A row appears with the generation, before the process starts, and goes with the event of its exit.
 */
import type { Database } from "bun:sqlite"
import { Generation, SessionId } from "@computerd/protocol/ids"
import { unacknowledgedFramesMax } from "@computerd/protocol/limits"
import { ExitReason } from "@computerd/protocol/link"
import type { Numbered } from "@computerd/protocol/numbering"
import { z } from "zod"
import { asStopCause, type StopCause } from "../process/machine.ts"
import { cachedRows } from "./cache.ts"
import type { Transactions } from "./transactions.ts"

/** A stop that was begun; it is carried on by whoever supervises the process then. */
export interface StoredStop {
  readonly cause: StopCause
  readonly graceMs: number
}

export interface ProcessRow {
  readonly sessionId: SessionId
  readonly generation: Generation
  /** SHA-256 in hex: enough to recognise the secret, useless to whoever reads the file. */
  readonly secretHash: string
  /** Unset until the process has been started. */
  readonly pid: number | undefined
  readonly startTime: string | undefined
  readonly bootId: string
  readonly cgroup: string | undefined
  readonly startedAtMs: number
  /** Last frame of the process that was applied. */
  readonly received: number
  /** Last frame that was numbered for the process. */
  readonly sent: number
  readonly phase: "starting" | "ready"
  readonly stop: StoredStop | undefined
}

export interface ProcessTable {
  readonly get: (sessionId: SessionId) => ProcessRow | undefined
  readonly all: () => readonly ProcessRow[]
  readonly put: (row: ProcessRow) => void
  /** Removes the row with its frames, if it still is of that generation. */
  readonly remove: (process: { readonly sessionId: SessionId; readonly generation: Generation }) => void
  readonly setReceived: (sessionId: SessionId, received: number) => void
  readonly setReady: (sessionId: SessionId) => void
  /** The first one stands. */
  readonly setStop: (sessionId: SessionId, stop: StoredStop) => void
  /** A getter call that was taken and is not answered; `request` is for its owner to read. */
  readonly keepCall: (sessionId: SessionId, requestId: string, request: string) => void
  readonly endCall: (sessionId: SessionId, requestId: string) => void
  readonly calls: (sessionId: SessionId) => readonly string[]
  /** Numbers and keeps a frame for the process; `undefined` when too many are unacknowledged. */
  readonly pushFrame: (sessionId: SessionId, body: string) => number | undefined
  readonly acknowledge: (sessionId: SessionId, ack: number) => void
  /** The next ones in order, a bounded number at a time. */
  readonly framesAfter: (sessionId: SessionId, received: number) => readonly Numbered<string>[]
}

interface Columns {
  session_id: string
  generation: number
  secret_hash: string
  pid: number | null
  start_time: string | null
  boot_id: string
  cgroup: string | null
  started_at_ms: number
  received: number
  sent: number
  phase: string
  stop: string | null
}

const Stop = z.strictObject({ cause: ExitReason, graceMs: z.int().min(0) })

const stopOf = (stored: string | null): StoredStop | undefined => {
  if (stored === null) return undefined
  const { cause, graceMs } = Stop.parse(JSON.parse(stored))
  const known = asStopCause(cause)
  return known && { cause: known, graceMs }
}

const rowOf = (columns: Columns): ProcessRow => ({
  sessionId: SessionId.parse(columns.session_id),
  generation: Generation.parse(columns.generation),
  secretHash: columns.secret_hash,
  pid: columns.pid ?? undefined,
  startTime: columns.start_time ?? undefined,
  bootId: columns.boot_id,
  cgroup: columns.cgroup ?? undefined,
  startedAtMs: columns.started_at_ms,
  received: columns.received,
  sent: columns.sent,
  phase: columns.phase === "starting" ? "starting" : "ready",
  stop: stopOf(columns.stop),
})

const statements = (database: Database) => ({
  all: database.query<Columns, []>("SELECT * FROM processes"),
  put: database.query(
    `INSERT INTO processes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session_id) DO UPDATE SET
       generation = excluded.generation, secret_hash = excluded.secret_hash, pid = excluded.pid,
       start_time = excluded.start_time, boot_id = excluded.boot_id, cgroup = excluded.cgroup,
       started_at_ms = excluded.started_at_ms, received = excluded.received, sent = excluded.sent,
       phase = excluded.phase, stop = excluded.stop`,
  ),
  remove: database.query("DELETE FROM processes WHERE session_id = ?"),
  received: database.query("UPDATE processes SET received = ? WHERE session_id = ?"),
  sent: database.query("UPDATE processes SET sent = ? WHERE session_id = ?"),
  push: database.query("INSERT INTO channel_frames (session_id, seq, body) VALUES (?, ?, ?)"),
  acknowledge: database.query("DELETE FROM channel_frames WHERE session_id = ? AND seq <= ?"),
  clear: database.query("DELETE FROM channel_frames WHERE session_id = ?"),
  ready: database.query("UPDATE processes SET phase = 'ready' WHERE session_id = ?"),
  stop: database.query("UPDATE processes SET stop = ? WHERE session_id = ?"),
  keepCall: database.query(
    "INSERT INTO getter_calls VALUES (?, ?, ?) ON CONFLICT (session_id, request_id) DO NOTHING",
  ),
  endCall: database.query("DELETE FROM getter_calls WHERE session_id = ? AND request_id = ?"),
  endCalls: database.query("DELETE FROM getter_calls WHERE session_id = ?"),
  calls: database.query<{ request: string }, [string]>(
    "SELECT request FROM getter_calls WHERE session_id = ? ORDER BY request_id",
  ),
  after: database.query<{ seq: number; body: string }, [string, number]>(
    "SELECT seq, body FROM channel_frames WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT 64",
  ),
  oldest: database.query<{ seq: number }, [string]>(
    "SELECT seq FROM channel_frames WHERE session_id = ? ORDER BY seq LIMIT 1",
  ),
})

/** Rows are read once and kept: each frame of a channel needs its cursors. A rollback makes them be read again. */
export const processTable = (database: Database, transactions: Transactions): ProcessTable => {
  const sql = statements(database)
  const rows = cachedRows<ProcessRow>(transactions, () => sql.all.all().map(rowOf))
  const change = (sessionId: SessionId, part: Partial<ProcessRow>): void => {
    const row = rows().get(sessionId)
    if (row !== undefined) rows().set(sessionId, { ...row, ...part })
  }
  return {
    get: (sessionId) => rows().get(sessionId),
    all: () => [...rows().values()],
    put: (row) => {
      if (rows().get(row.sessionId)?.generation !== row.generation) {
        sql.clear.run(row.sessionId)
        sql.endCalls.run(row.sessionId)
      }
      sql.put.run(
        row.sessionId,
        row.generation,
        row.secretHash,
        row.pid ?? null,
        row.startTime ?? null,
        row.bootId,
        row.cgroup ?? null,
        row.startedAtMs,
        row.received,
        row.sent,
        row.phase,
        row.stop === undefined ? null : JSON.stringify(row.stop),
      )
      rows().set(row.sessionId, row)
    },
    remove: ({ sessionId, generation }) => {
      if (rows().get(sessionId)?.generation !== generation) return
      sql.remove.run(sessionId)
      rows().delete(sessionId)
    },
    setReceived: (sessionId, received) => {
      sql.received.run(received, sessionId)
      change(sessionId, { received })
    },
    setReady: (sessionId) => {
      sql.ready.run(sessionId)
      change(sessionId, { phase: "ready" })
    },
    setStop: (sessionId, stop) => {
      if (rows().get(sessionId)?.stop !== undefined) return
      sql.stop.run(JSON.stringify(stop), sessionId)
      change(sessionId, { stop })
    },
    keepCall: (sessionId, requestId, request) => {
      sql.keepCall.run(sessionId, requestId, request)
    },
    endCall: (sessionId, requestId) => {
      sql.endCall.run(sessionId, requestId)
    },
    calls: (sessionId) => sql.calls.all(sessionId).map((row) => row.request),
    pushFrame: (sessionId, body) => {
      const row = rows().get(sessionId)
      if (row === undefined) return undefined
      const oldest = sql.oldest.get(sessionId)?.seq ?? row.sent + 1
      if (row.sent + 1 - oldest >= unacknowledgedFramesMax) return undefined
      const seq = row.sent + 1
      sql.push.run(sessionId, seq, body)
      sql.sent.run(seq, sessionId)
      change(sessionId, { sent: seq })
      return seq
    },
    acknowledge: (sessionId, ack) => {
      sql.acknowledge.run(sessionId, ack)
    },
    framesAfter: (sessionId, received) => sql.after.all(sessionId, received),
  }
}
