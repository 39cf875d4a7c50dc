/** Pages of what happened, for one Environment. A cursor names a place in one tree and works for nobody else's. */
import type { EventPage, SessionEvent } from "@computerd/protocol/api/events"
import { timestamp } from "@computerd/protocol/content"
import { ok, type Result } from "@computerd/protocol/errors"
import type { EnvironmentKey, SessionId } from "@computerd/protocol/ids"
import { cursorAfter, cursorPosition, type ListIdentity } from "../../rules/cursors.ts"
import type { Given } from "../../rules/given.ts"
import { receiptCaller } from "../../rules/outside/call.ts"
import { sessionIn } from "../../rules/outside/reach.ts"
import type { StoredEvent } from "../../store/history.ts"
import type { Parts } from "../parts.ts"
import { looker } from "./look.ts"

export interface EventsAsked {
  readonly sessionId: SessionId
  /** Descendants too. */
  readonly tree: boolean
  readonly after?: string | undefined
  readonly limit: number
}

export interface EventsRead {
  readonly page: EventPage
  readonly rootId: SessionId
  /** Nothing more will come: the Session is closed and the page reaches its end. */
  readonly ended: boolean
}

export type ReadEvents = (environment: EnvironmentKey, asked: EventsAsked) => Result<EventsRead>

const eventView = (row: StoredEvent, list: ListIdentity, given: Given): SessionEvent => ({
  cursor: cursorAfter(list, String(row.sequence), given),
  sequence: row.sequence,
  sessionId: row.sessionId,
  at: timestamp(row.createdAt),
  ...row.body,
})

export const readEvents = (parts: Parts): ReadEvents => {
  const look = looker(parts)
  const { history } = parts.store.tables
  return (environment, { sessionId, tree, after, limit }) =>
    look(environment, (where) => {
      const found = sessionIn(where, sessionId)
      if (!found.ok) return found
      const session = found.value
      const list = { caller: receiptCaller(environment), tool: "events", filters: { root: session.rootId } }
      const position = cursorPosition(list, after, where.given, "after")
      if (!position.ok) return position
      const rows = history.page({ session, tree, after: Number(position.value ?? 0), limit: limit + 1 })
      const events = rows.slice(0, limit).map((row) => eventView(row, list, where.given))
      const more = rows.length > limit
      const nextCursor = events.at(-1)?.cursor ?? after
      const page = { events, more, ...(nextCursor === undefined ? {} : { nextCursor }) }
      return ok({ page, rootId: session.rootId, ended: session.status === "closed" && !more })
    })
}
