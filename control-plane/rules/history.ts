/**
 * What a decision's changes mean to those who follow a Session: one event for each thing that happened, in an order that
 * can be told as a story.
 *
 * H1 the creation of a Session comes first and its closing last; of a tree that closes at once, the root closes last
 * H2 no event holds an input, a message, an answer or a result: these have their own places and their own time to live
 */
import type { EventBody } from "@computerd/protocol/api/events"
import type { SessionId } from "@computerd/protocol/ids"
import type { Changes, Notice, Written } from "./changes.ts"
import { type Hold, isSettled, type Message, type Question, type Session, type Turn } from "./entities.ts"

export interface Happened {
  readonly sessionId: SessionId
  readonly body: EventBody
}

const at = (sessionId: SessionId, body: EventBody): Happened => ({ sessionId, body })

const creation = ({ before, row }: Written<Session>): Happened[] =>
  before === undefined
    ? [
        at(row.id, {
          type: "session_created",
          agent: row.agent,
          deploymentId: row.deploymentId,
          computerId: row.computerId,
          parentSessionId: row.parentId,
          requesterSessionId: row.requesterId,
        }),
      ]
    : []

const processEvent = ({ before, row }: Written<Session>): Happened[] => {
  const { generation, id } = row
  const same = before?.process === row.process && before.generation === generation
  if (same || before === undefined || row.status === "closed") return []
  switch (row.process) {
    case "starting":
      return [at(id, { type: "process_starting", generation })]
    case "ready":
      return [at(id, { type: "process_ready", generation })]
    case "none":
      return [at(id, { type: "process_exited", generation, reason: row.lossReason })]
  }
}

const closingEvent = ({ before, row }: Written<Session>): Happened[] =>
  row.closing !== "none" && before?.closing !== row.closing
    ? [at(row.id, { type: "session_closing", mode: row.closing })]
    : []

/** H1 */
const closedEvents = (sessions: Changes["sessions"]): readonly Happened[] =>
  sessions
    .filter(({ before, row }) => row.status === "closed" && before?.status !== "closed")
    .toSorted((left, right) => right.row.depth - left.row.depth)
    .map(({ row }) => at(row.id, { type: "session_closed" }))

const queuedEvent = ({ before, row }: Written<Turn>): Happened[] => {
  if (before !== undefined) return []
  const { id: turnId, sequence: turnSequence, requesterId, originTurnId } = row
  const source =
    requesterId === null
      ? ({ kind: "client" } as const)
      : {
          kind: "session" as const,
          requesterSessionId: requesterId,
          ...(originTurnId === null ? {} : { originTurnId }),
        }
  return [at(row.sessionId, { type: "turn_queued", turnId, turnSequence, source })]
}

const startedEvent = ({ before, row }: Written<Turn>): Happened[] =>
  row.startedAt !== null && (before?.startedAt ?? null) === null
    ? [at(row.sessionId, { type: "turn_started", turnId: row.id })]
    : []

const settledEvent = ({ before, row }: Written<Turn>): Happened[] => {
  const { status } = row
  if (status === "queued" || status === "running" || (before !== undefined && isSettled(before))) return []
  const errorCode = row.error?.code ?? null
  return [at(row.sessionId, { type: "turn_settled", turnId: row.id, status, errorCode })]
}

const holdEvent = ({ before, row }: Written<Hold>): Happened[] => {
  const { id: holdId, kind, sessionId } = row
  if (before === undefined)
    return [at(sessionId, { type: "hold_placed", holdId, kind, reason: row.gap?.reason ?? null })]
  return row.releasedAt === null || before.releasedAt !== null
    ? []
    : [at(sessionId, { type: "hold_released", holdId, kind })]
}

const messageEvent = ({ id: messageId, sessionId, turnId }: Message): Happened =>
  at(sessionId, { type: "message_accepted", turnId, messageId })

const questionTypes = {
  open: "question_asked",
  answered: "question_answered",
  cancelled: "question_cancelled",
} as const

const questionEvent = ({ before, row }: Written<Question>): Happened[] =>
  before?.status === row.status
    ? []
    : [at(row.sessionId, { type: questionTypes[row.status], turnId: row.turnId, questionId: row.id })]

const noticeEvent = (notice: Notice): Happened => {
  const { id: turnId, sessionId } = notice.turn
  return notice.type === "turn_output"
    ? at(sessionId, { type: "turn_output", turnId, text: notice.text })
    : at(sessionId, { type: "messages_dropped", turnId, messageIds: [...notice.messages] })
}

/** H1, H2 */
export const happenedIn = (changes: Changes): readonly Happened[] => [
  ...changes.sessions.flatMap(creation),
  ...changes.sessions.flatMap(processEvent),
  ...changes.sessions.flatMap(closingEvent),
  ...changes.turns.flatMap(queuedEvent),
  ...changes.turns.flatMap(startedEvent),
  ...changes.messages.map(messageEvent),
  ...changes.notices.map(noticeEvent),
  ...changes.questions.flatMap(questionEvent),
  ...changes.turns.flatMap(settledEvent),
  ...changes.holds.flatMap(holdEvent),
  ...closedEvents(changes.sessions),
]
