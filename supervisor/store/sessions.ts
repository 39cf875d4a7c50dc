/** Sessions as the control plane wants them here, and the messages of their Turns. */
import type { Database } from "bun:sqlite"
import { TurnData } from "@computerd/protocol/channel"
import { Content } from "@computerd/protocol/content"
import { MessageId, SessionId, TurnId } from "@computerd/protocol/ids"
import { ExitReason, SessionAssignment } from "@computerd/protocol/link"
import { z } from "zod"
import { cachedRows } from "./cache.ts"
import type { Transactions } from "./transactions.ts"

/** The dispatched Turn that is not settled. `waiting`: the process has not been given it yet. */
const StoredTurn = z.strictObject({
  data: TurnData,
  phase: z.enum(["waiting", "sent"]),
  atMs: z.int(),
  cancel: z
    .strictObject({ status: z.enum(["interrupted", "cancelled"]), graceMs: z.int().min(0) })
    .optional(),
})
export type StoredTurn = Readonly<z.infer<typeof StoredTurn>>

const Ending = z.strictObject({ kind: z.enum(["released", "dropped"]), graceMs: z.int().min(0) })
export type Ending = Readonly<z.infer<typeof Ending>>

/** Losses of its processes that still count, as wall times, and the wait before the next start. */
const StoredRecovery = z.strictObject({ losses: z.array(z.int()), delayMs: z.int().min(0) })
export type StoredRecovery = Readonly<z.infer<typeof StoredRecovery>>

export interface SessionRow {
  readonly sessionId: SessionId
  readonly assignment: SessionAssignment
  /** The highest generation that was ever started here or that the control plane has seen; 0 before the first. */
  readonly generation: number
  /** A process shall exist. A loss that is left to a person ends it; a release or a Turn begins it again. */
  readonly wanted: boolean
  readonly turn: StoredTurn | undefined
  /** Dispatched while another one still ran: it is given once that has stopped. */
  readonly next: StoredTurn | undefined
  /** The Session is to be ended and forgotten; only a release is answered. */
  readonly ending: Ending | undefined
  /** The last Turn that ended here, so that it is never run again. */
  readonly finishedTurn: TurnId | undefined
  readonly lastExit: ExitReason | undefined
  readonly recovery: StoredRecovery | undefined
}

export interface StoredMessage {
  readonly messageId: MessageId
  readonly content: Content
}

export interface SessionTable {
  readonly get: (sessionId: SessionId) => SessionRow | undefined
  readonly all: () => readonly SessionRow[]
  readonly put: (row: SessionRow) => void
  readonly remove: (sessionId: SessionId) => void
  /** Keeps a message of the Turn until it is taken; a message that was kept before is not kept again. */
  readonly keepMessage: (of: { sessionId: SessionId; turnId: TurnId }, message: StoredMessage) => void
  /** Hands out the untaken messages in order; their ids stay known until the Turn ends. */
  readonly takeMessages: (sessionId: SessionId) => readonly StoredMessage[]
  readonly dropMessages: (sessionId: SessionId) => void
}

interface Columns {
  session_id: string
  assignment: string
  generation: number
  wanted: number
  turn: string | null
  next: string | null
  ending: string | null
  finished_turn: string | null
  last_exit: string | null
  recovery: string | null
}

const rowOf = (columns: Columns): SessionRow => ({
  sessionId: SessionId.parse(columns.session_id),
  assignment: SessionAssignment.parse(JSON.parse(columns.assignment)),
  generation: columns.generation,
  wanted: columns.wanted === 1,
  turn: columns.turn === null ? undefined : StoredTurn.parse(JSON.parse(columns.turn)),
  next: columns.next === null ? undefined : StoredTurn.parse(JSON.parse(columns.next)),
  ending: columns.ending === null ? undefined : Ending.parse(JSON.parse(columns.ending)),
  finishedTurn: columns.finished_turn === null ? undefined : TurnId.parse(columns.finished_turn),
  lastExit: columns.last_exit === null ? undefined : ExitReason.parse(JSON.parse(columns.last_exit)),
  recovery: columns.recovery === null ? undefined : StoredRecovery.parse(JSON.parse(columns.recovery)),
})

const json = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))

const statements = (database: Database) => ({
  all: database.query<Columns, []>("SELECT * FROM sessions"),
  put: database.query(
    `INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session_id) DO UPDATE SET
       assignment = excluded.assignment, generation = excluded.generation, wanted = excluded.wanted,
       turn = excluded.turn, next = excluded.next, ending = excluded.ending,
       finished_turn = excluded.finished_turn, last_exit = excluded.last_exit, recovery = excluded.recovery`,
  ),
  remove: database.query("DELETE FROM sessions WHERE session_id = ?"),
  keep: database.query(
    `INSERT INTO turn_messages (session_id, turn_id, message_id, content) VALUES (?, ?, ?, ?)
     ON CONFLICT (session_id, message_id) DO NOTHING`,
  ),
  untaken: database.query<{ message_id: string; content: string }, [string]>(
    `SELECT message_id, content FROM turn_messages
     WHERE session_id = ? AND content IS NOT NULL ORDER BY position`,
  ),
  taken: database.query("UPDATE turn_messages SET content = NULL WHERE session_id = ?"),
  drop: database.query("DELETE FROM turn_messages WHERE session_id = ?"),
})

/** Rows are read once and kept, since every MCP request asks for one; a rollback makes them be read again. */
export const sessionTable = (database: Database, transactions: Transactions): SessionTable => {
  const sql = statements(database)
  const rows = cachedRows<SessionRow>(transactions, () => sql.all.all().map(rowOf))
  return {
    get: (sessionId) => rows().get(sessionId),
    all: () => [...rows().values()],
    put: (row) => {
      sql.put.run(
        row.sessionId,
        JSON.stringify(row.assignment),
        row.generation,
        row.wanted ? 1 : 0,
        json(row.turn),
        json(row.next),
        json(row.ending),
        row.finishedTurn ?? null,
        json(row.lastExit),
        json(row.recovery),
      )
      rows().set(row.sessionId, row)
    },
    remove: (sessionId) => {
      sql.remove.run(sessionId)
      rows().delete(sessionId)
    },
    keepMessage: ({ sessionId, turnId }, { messageId, content }) => {
      sql.keep.run(sessionId, turnId, messageId, JSON.stringify(content))
    },
    takeMessages: (sessionId) => {
      const untaken = sql.untaken.all(sessionId)
      if (untaken.length > 0) sql.taken.run(sessionId)
      return untaken.map((row) => ({
        messageId: MessageId.parse(row.message_id),
        content: Content.parse(JSON.parse(row.content)),
      }))
    },
    dropMessages: (sessionId) => {
      sql.drop.run(sessionId)
    },
  }
}
