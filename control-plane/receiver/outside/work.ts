/** Computers, Sessions and Turns, as one Environment reads its own. */
import type { Computer, ComputerPage } from "@computerd/protocol/api/computers"
import type { QuestionList } from "@computerd/protocol/api/questions"
import type { Session, SessionPage } from "@computerd/protocol/api/sessions"
import type { Turn, TurnPage } from "@computerd/protocol/api/turns"
import { type ComputerStatus, timestamp } from "@computerd/protocol/content"
import { ok, type Result } from "@computerd/protocol/errors"
import type { ComputerId, EnvironmentKey, SessionId, TurnId } from "@computerd/protocol/ids"
import type { Session as SessionRow } from "../../rules/entities.ts"
import { pageOf } from "../../rules/outside/listing.ts"
import { computerIn, sessionIn, turnIn } from "../../rules/outside/reach.ts"
import { computerView, sessionView, turnView } from "../../rules/outside/views.ts"
import type { SessionFilter } from "../../store/sessions.ts"
import type { Turns as TurnTable } from "../../store/turns.ts"
import type { Parts } from "../parts.ts"
import { waitOf } from "../snapshot.ts"
import { type Look, looker, next, type PageAsked } from "./look.ts"

export interface WorkReads {
  readonly computers: (
    environment: EnvironmentKey,
    asked: PageAsked & { readonly status?: ComputerStatus | undefined },
  ) => Result<ComputerPage>
  readonly computer: (environment: EnvironmentKey, id: ComputerId) => Result<Computer>
  readonly members: (environment: EnvironmentKey, id: ComputerId, asked: PageAsked) => Result<SessionPage>
  readonly sessions: (environment: EnvironmentKey, asked: PageAsked & SessionFilter) => Result<SessionPage>
  readonly session: (environment: EnvironmentKey, id: SessionId) => Result<Session>
  readonly turns: (environment: EnvironmentKey, id: SessionId, asked: PageAsked) => Result<TurnPage>
  readonly turn: (environment: EnvironmentKey, target: TurnPath) => Result<Turn>
  readonly questions: (environment: EnvironmentKey, id: SessionId) => Result<QuestionList>
}

export interface TurnPath {
  readonly sessionId: SessionId
  readonly turnId: TurnId
}

const sessionPage = (
  { draft, environment, given }: Look,
  asked: PageAsked & SessionFilter,
  { sessions }: Parts["store"]["tables"],
): Result<SessionPage> => {
  const { cursor, limit, ...filter } = asked
  const found = pageOf(
    {
      environment,
      name: "sessions",
      filters: filter,
      cursor,
      limit,
      read: (before, count) => sessions.pageIn({ environment, filter, before, limit: count }),
      position: ({ id }) => id,
    },
    given,
  )
  if (!found.ok) return found
  return ok({ sessions: found.value.rows.map((row) => sessionView(draft, row)), ...next(found.value) })
}

const turnPage = (
  look: Look,
  session: SessionRow,
  { page: { cursor, limit }, turns }: { readonly page: PageAsked; readonly turns: TurnTable },
): Result<TurnPage> => {
  const { draft, environment, given } = look
  const found = pageOf(
    {
      environment,
      name: "turns",
      filters: { session: session.id },
      cursor,
      limit,
      read: (before, count) =>
        turns.page(session.id, before === null ? Number.MAX_SAFE_INTEGER : Number(before), count),
      position: ({ sequence }) => String(sequence),
    },
    given,
  )
  if (!found.ok) return found
  const views = found.value.rows.map((row) => turnView(draft, row, waitOf(draft, session, row)))
  return ok({ turns: views, ...next(found.value) })
}

export const workReads = (parts: Parts): WorkReads => {
  const look = looker(parts)
  const { tables } = parts.store
  return {
    computers: (environment, { cursor, limit, status }) =>
      look(environment, ({ given }) => {
        const found = pageOf(
          {
            environment,
            name: "computers",
            filters: { status },
            cursor,
            limit,
            read: (before, count) => tables.computers.pageIn({ environment, status, before, limit: count }),
            position: ({ id }) => id,
          },
          given,
        )
        return found.ok ? ok({ computers: found.value.rows.map(computerView), ...next(found.value) }) : found
      }),
    computer: (environment, id) =>
      look(environment, (where) => {
        const found = computerIn(where, id)
        return found.ok ? ok(computerView(found.value)) : found
      }),
    members: (environment, id, asked) =>
      look(environment, (where) => {
        const found = computerIn(where, id)
        return found.ok ? sessionPage(where, { ...asked, computerId: id }, tables) : found
      }),
    sessions: (environment, asked) => look(environment, (where) => sessionPage(where, asked, tables)),
    session: (environment, id) =>
      look(environment, (where) => {
        const found = sessionIn(where, id)
        return found.ok ? ok(sessionView(where.draft, found.value)) : found
      }),
    turns: (environment, id, page) =>
      look(environment, (where) => {
        const found = sessionIn(where, id)
        return found.ok ? turnPage(where, found.value, { page, turns: tables.turns }) : found
      }),
    turn: (environment, target) =>
      look(environment, (where) => {
        const found = turnIn(where, target)
        if (!found.ok) return found
        const { session, turn } = found.value
        return ok(turnView(where.draft, turn, waitOf(where.draft, session, turn)))
      }),
    questions: (environment, id) =>
      look(environment, (where) => {
        const found = sessionIn(where, id)
        if (!found.ok) return found
        const questions = where.draft.openQuestions(id).map((question) => ({
          id: question.id,
          sessionId: question.sessionId,
          turnId: question.turnId,
          question: [...tables.conversation.questionText(question.id)],
          createdAt: timestamp(question.createdAt),
        }))
        return ok({ questions })
      }),
  }
}
