/** What happened in each tree of Sessions, numbered without end; see the numbering of `event_seq`. */
import type { EventBody } from "@computerd/protocol/api/events"
import { turnOutputMaxBytes } from "@computerd/protocol/api/limits"
import { utf8Bytes } from "@computerd/protocol/content"
import type { SessionId, TurnId } from "@computerd/protocol/ids"
import type { Session } from "../rules/entities.ts"
import type { Happened } from "../rules/history.ts"
import { parseJson, type Sql } from "./sql.ts"

export interface StoredEvent {
  readonly sequence: number
  readonly sessionId: SessionId
  readonly body: EventBody
  readonly createdAt: number
}

export interface HistoryPage {
  readonly session: Session
  /** Its descendants too. */
  readonly tree: boolean
  readonly after: number
  readonly limit: number
}

export interface History {
  /** Numbers and keeps what happened; the roots of the trees in which it did. */
  readonly append: (events: readonly Happened[], at: number) => ReadonlySet<SessionId>
  readonly page: (page: HistoryPage) => readonly StoredEvent[]
  /** The last number that a tree has given out. */
  readonly last: (root: SessionId) => number
  /** Output goes when the other payload of its Turn goes. */
  readonly dropOutput: (turn: TurnId) => void
  readonly drop: (session: SessionId) => void
}

interface EventRecord {
  readonly sequence: number
  readonly session_id: SessionId
  readonly body: string
  readonly created_at: number
}

const eventOf = (record: EventRecord): StoredEvent => ({
  sequence: record.sequence,
  sessionId: record.session_id,
  body: parseJson(record.body),
  createdAt: record.created_at,
})

const columns = "sequence, session_id, body, created_at"

/** A child's descendants; a root's tree has an index of its own. */
const branch = `
  with recursive owned (id) as (
    select id from sessions where id = $1
    union
    select child.id from sessions child join owned on child.parent_id = owned.id
  )
  select ${columns} from events where root_id = $2 and sequence > $3 and session_id in (select id from owned)
  order by sequence limit $4`

const pageOf = (sql: Sql, { session, tree, after, limit }: HistoryPage): readonly EventRecord[] => {
  if (!tree)
    return sql.all<EventRecord>(
      `select ${columns} from events where session_id = $1 and sequence > $2 order by sequence limit $3`,
      session.id,
      after,
      limit,
    )
  if (session.rootId !== session.id)
    return sql.all<EventRecord>(branch, session.id, session.rootId, after, limit)
  return sql.all<EventRecord>(
    `select ${columns} from events where root_id = $1 and sequence > $2 order by sequence limit $3`,
    session.rootId,
    after,
    limit,
  )
}

export const historyOf = (sql: Sql): History => {
  /** Bytes of output before this text. */
  const countOutput = (turn: TurnId, text: string): number => {
    const added = utf8Bytes(text)
    const now = sql.get<{ readonly bytes: number }>(
      `insert into output_sizes (turn_id, bytes) values ($1, $2)
       on conflict (turn_id) do update set bytes = output_sizes.bytes + excluded.bytes returning bytes`,
      turn,
      added,
    )
    return (now?.bytes ?? added) - added
  }

  /** What is kept of an event: output beyond its bound is not, and one event says so. */
  const kept = (body: EventBody): EventBody | undefined => {
    if (body.type !== "turn_output") return body
    const before = countOutput(body.turnId, body.text)
    if (before + utf8Bytes(body.text) <= turnOutputMaxBytes) return body
    if (before > turnOutputMaxBytes) return undefined
    return { type: "turn_output_truncated", turnId: body.turnId, keptBytes: before }
  }

  const appendOne = ({ sessionId, body: told }: Happened, at: number): SessionId | undefined => {
    const body = kept(told)
    if (body === undefined) return undefined
    const place = sql.get<{ readonly id: SessionId; readonly event_seq: number }>(
      `update sessions set event_seq = event_seq + 1
       where id = (select root_id from sessions where id = $1) returning id, event_seq`,
      sessionId,
    )
    if (place === undefined) return undefined
    sql.run(
      `insert into events (root_id, sequence, session_id, output_of, body, created_at)
       values ($1, $2, $3, $4, $5, $6)`,
      place.id,
      place.event_seq,
      sessionId,
      body.type === "turn_output" ? body.turnId : null,
      JSON.stringify(body),
      at,
    )
    return place.id
  }

  return {
    append: (events, at) =>
      new Set(events.map((event) => appendOne(event, at)).filter((root) => root !== undefined)),
    page: (page) => pageOf(sql, page).map(eventOf),
    last: (root) =>
      sql.get<{ readonly event_seq: number }>("select event_seq from sessions where id = $1", root)
        ?.event_seq ?? 0,
    dropOutput: (turn) => {
      sql.run("delete from events where output_of = $1", turn)
      sql.run("delete from output_sizes where turn_id = $1", turn)
    },
    drop: (session) => {
      sql.run("delete from events where session_id = $1", session)
      sql.run(
        "delete from output_sizes where turn_id in (select id from turns where session_id = $1)",
        session,
      )
    },
  }
}
