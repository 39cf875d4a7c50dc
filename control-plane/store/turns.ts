import type { Content, TurnStatus } from "@computerd/protocol/content"
import type { SessionId, TurnId } from "@computerd/protocol/ids"
import type { StopStatus, Turn, TurnPayload } from "../rules/entities.ts"
import { parseJson, type Sql, type Value } from "./sql.ts"
import { type Table, tableOf } from "./table.ts"

interface TurnRecord {
  readonly id: TurnId
  readonly session_id: SessionId
  readonly sequence: number
  readonly status: TurnStatus
  readonly dispatched: number
  readonly stop: StopStatus | null
  readonly requester_id: SessionId | null
  readonly origin_turn_id: TurnId | null
  readonly created_at: number
  readonly started_at: number | null
  readonly settled_at: number | null
  readonly error_code: string | null
  readonly error_message: string | null
  readonly payload_expired_at: number | null
}

const errorOf = (record: TurnRecord): Turn["error"] => {
  if (record.error_code === null) return null
  if (record.error_message === null) return { code: record.error_code }
  return { code: record.error_code, message: record.error_message }
}

const turnOf = (record: TurnRecord): Turn => ({
  id: record.id,
  sessionId: record.session_id,
  sequence: record.sequence,
  status: record.status,
  dispatched: record.dispatched === 1,
  stop: record.stop,
  requesterId: record.requester_id,
  originTurnId: record.origin_turn_id,
  createdAt: record.created_at,
  startedAt: record.started_at,
  settledAt: record.settled_at,
  error: errorOf(record),
  payloadExpiredAt: record.payload_expired_at,
})

const table = (sql: Sql): Table<Turn> =>
  tableOf<Turn>(sql, {
    name: "turns",
    id: (row) => row.id,
    fixed: {
      session_id: (row) => row.sessionId,
      sequence: (row) => row.sequence,
      requester_id: (row) => row.requesterId,
      origin_turn_id: (row) => row.originTurnId,
      created_at: (row) => row.createdAt,
    },
    changing: {
      status: (row) => row.status,
      dispatched: (row) => (row.dispatched ? 1 : 0),
      stop: (row) => row.stop,
      started_at: (row) => row.startedAt,
      settled_at: (row) => row.settledAt,
      error_code: (row) => row.error?.code ?? null,
      error_message: (row) => row.error?.message ?? null,
      payload_expired_at: (row) => row.payloadExpiredAt,
    },
  })

/** Everything but what may be large. */
const columns = `id, session_id, sequence, status, dispatched, stop, requester_id, origin_turn_id, created_at,
  started_at, settled_at, error_code, error_message, payload_expired_at`

export interface Turns extends Table<Turn> {
  readonly get: (id: TurnId) => Turn | undefined
  readonly unsettled: (session: SessionId, limit: number) => readonly Turn[]
  readonly ofSession: (session: SessionId) => readonly Turn[]
  /** Newest first, below the sequence `before`. */
  readonly page: (session: SessionId, before: number, limit: number) => readonly Turn[]
  readonly hasRequested: (requester: SessionId, target: SessionId) => boolean
  readonly addInput: (turn: TurnId, input: Content) => void
  readonly input: (turn: TurnId) => Content
  readonly putPayload: (turn: TurnId, payload: TurnPayload) => void
  readonly payload: (turn: TurnId) => TurnPayload | undefined
  /** Drops what settled before `before`, at most `limit` Turns; how many. */
  readonly expire: (before: number, now: number, limit: number) => number
}

export const turnsOf = (sql: Sql, dropOutput: (turn: TurnId) => void): Turns => {
  const list = (text: string, ...values: readonly Value[]): readonly Turn[] =>
    sql.all<TurnRecord>(text, ...values).map(turnOf)
  return {
    ...table(sql),
    get: (id) => list(`select ${columns} from turns where id = $1`, id)[0],
    unsettled: (session, limit) =>
      list(
        `select ${columns} from turns where session_id = $1 and settled_at is null order by sequence limit $2`,
        session,
        limit,
      ),
    ofSession: (session) =>
      list(`select ${columns} from turns where session_id = $1 order by sequence`, session),
    page: (session, before, limit) =>
      list(
        `select ${columns} from turns where session_id = $1 and sequence < $2 order by sequence desc limit $3`,
        session,
        before,
        limit,
      ),
    hasRequested: (requester, target) =>
      sql.get(
        "select 1 as found from turns where requester_id = $1 and session_id = $2 limit 1",
        requester,
        target,
      ) !== undefined,
    addInput: (turn, input) => {
      sql.run("insert into inputs (turn_id, content) values ($1, $2)", turn, JSON.stringify(input))
    },
    input: (turn) => {
      const row = sql.get<{ readonly content: string }>("select content from inputs where turn_id = $1", turn)
      return row === undefined ? [] : parseJson(row.content)
    },
    putPayload: (turn, payload) => {
      sql.run(
        "update turns set result = $1, response = $2 where id = $3",
        JSON.stringify(payload.result),
        payload.response === null ? null : JSON.stringify(payload.response),
        turn,
      )
    },
    payload: (turn) => {
      const row = sql.get<{ readonly result: string | null; readonly response: string | null }>(
        "select result, response from turns where id = $1",
        turn,
      )
      if (row === undefined || row.result === null) return undefined
      return {
        result: parseJson(row.result),
        response: row.response === null ? null : parseJson(row.response),
      }
    },
    expire: (before, now, limit) => {
      const due = sql.all<{ readonly id: TurnId }>(
        `select id from turns where settled_at <= $1 and payload_expired_at is null order by settled_at limit $2`,
        before,
        limit,
      )
      for (const { id } of due) {
        sql.run(
          `update turns set payload_expired_at = $1, result = null, response = null, error_message = null
           where id = $2`,
          now,
          id,
        )
        sql.run("delete from inputs where turn_id = $1", id)
        dropOutput(id)
      }
      return due.length
    },
  }
}
