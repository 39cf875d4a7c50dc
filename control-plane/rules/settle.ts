/**
 * The end of a Turn.
 *
 * S1 a Turn settles once: the first settlement stands and later ones change nothing
 * S2 a Turn that started is settled by its Computer, or by the loss of its process; asking it to stop settles nothing
 */
import type { TurnOutcome } from "@computerd/protocol/content"
import { failure } from "@computerd/protocol/errors"
import type { Draft } from "./draft.ts"
import { isSettled, type Question, type StopStatus, type Turn, type TurnPayload } from "./entities.ts"
import type { Given } from "./given.ts"

const payloadOf = (outcome: TurnOutcome): TurnPayload | undefined =>
  outcome.status === "completed" ? { result: outcome.result, response: outcome.response ?? null } : undefined

export const cancelQuestion = (draft: Draft, question: Question, reason: string): void => {
  draft.putQuestion({ ...question, status: "cancelled" })
  const session = draft.session(question.sessionId)
  if (session === undefined) return
  draft.command(session.computerId, {
    type: "answer",
    sessionId: question.sessionId,
    turnId: question.turnId,
    requestId: question.requestId,
    result: { ok: false, error: failure("cancelled", reason) },
  })
}

/** S1; says whether this was the settlement. */
export const settle = (draft: Draft, turn: Turn, outcome: TurnOutcome, given: Given): boolean => {
  const now = draft.turn(turn.id)
  if (now === undefined || isSettled(now)) return false
  const error = outcome.status === "completed" ? null : outcome.error
  draft.putTurn(
    { ...now, status: outcome.status, dispatched: false, settledAt: given.now, error },
    payloadOf(outcome),
  )
  for (const question of draft.openQuestions(now.sessionId)) {
    if (question.turnId === now.id) draft.putQuestion({ ...question, status: "cancelled" })
  }
  return true
}

/** Pending work that will not run. A Turn that its Computer has been given is called back there. */
export const cancelQueued = (draft: Draft, turn: Turn, given: Given): void => {
  if (turn.dispatched) requestStop(draft, turn, "cancelled", given)
  settle(
    draft,
    turn,
    { status: "cancelled", error: { code: "cancelled", message: "The Session ended before this Turn ran." } },
    given,
  )
}

/** S2; a later `cancelled` replaces an earlier `interrupted`, never the other way round. */
export const requestStop = (draft: Draft, turn: Turn, status: StopStatus, given: Given): void => {
  if (turn.stop === "cancelled" || turn.stop === status) return
  const session = draft.session(turn.sessionId)
  if (session === undefined) return
  draft.putTurn({ ...turn, stop: status })
  draft.command(session.computerId, {
    type: "cancel_turn",
    sessionId: session.id,
    turnId: turn.id,
    status,
    graceMs: given.settings.stopGraceMs,
  })
}
