/**
 * What a caller can reach. What it cannot see and what does not exist get the same answer, but for the echoed id.
 *
 * V1 a caller sees itself, its owned descendants and the Sessions it requested; and the exact Turn it enqueued elsewhere
 * V2 it may enqueue into open Sessions of its Environment, and retry that where it once did
 * V3 it controls its owned descendants only
 */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { HoldId, SessionId, TurnId } from "@computerd/protocol/ids"
import type { Caller } from "./caller.ts"
import type { Draft } from "./draft.ts"
import type { Hold, Session, Turn } from "./entities.ts"
import { owns } from "./family.ts"

const isAccessible = (draft: Draft, caller: Session, session: Session): boolean =>
  session.id === caller.id || session.requesterId === caller.id || owns(draft, caller, session)

const unknown = (field: string, sentence: string): ReturnType<typeof fail> =>
  fail("invalid_arguments", `${field} ${sentence}`, field)

/** V1 */
export const accessibleSession = (draft: Draft, caller: Caller, id: SessionId): Result<Session> => {
  const session = draft.session(id)
  if (session !== undefined && isAccessible(draft, caller.session, session)) return ok(session)
  return unknown("sessionId", `${id} is no Session that this Session owns or requested`)
}

export interface TurnTarget {
  readonly session: Session
  readonly turn: Turn
}

const turnOf = (draft: Draft, session: Session, id: TurnId): Result<TurnTarget> => {
  const turn = draft.turn(id)
  if (turn !== undefined && turn.sessionId === session.id) return ok({ session, turn })
  return unknown("turnId", `${id} is no Turn of Session ${session.id}`)
}

/** V1 */
export const accessibleTurn = (
  draft: Draft,
  caller: Caller,
  target: { readonly sessionId: SessionId; readonly turnId: TurnId },
): Result<TurnTarget> => {
  const turn = draft.turn(target.turnId)
  if (turn?.sessionId === target.sessionId && turn.requesterId === caller.session.id) {
    const session = draft.session(turn.sessionId)
    if (session !== undefined) return ok({ session, turn })
  }
  const session = accessibleSession(draft, caller, target.sessionId)
  return session.ok ? turnOf(draft, session.value, target.turnId) : session
}

const notEligible = (id: SessionId): ReturnType<typeof fail> =>
  unknown("sessionId", `${id} is no open Session of this Environment`)

/** V2; a closed Session resolves only for those who know it. */
export const enqueueTarget = (draft: Draft, caller: Caller, id: SessionId): Result<Session> => {
  const session = draft.session(id)
  if (session === undefined || session.environment !== caller.session.environment) return notEligible(id)
  if (session.status === "open" || isAccessible(draft, caller.session, session)) return ok(session)
  return draft.state.hasRequestedTurn(caller.session.id, id) ? ok(session) : notEligible(id)
}

/** That it is closing or closed is said to those alone who may see it; others read what an unknown id gets. */
export const openForEnqueue = (draft: Draft, caller: Caller, session: Session): Result<void> => {
  if (session.status === "open") return ok(undefined)
  return isAccessible(draft, caller.session, session)
    ? unknown("sessionId", `${session.id} is closing or closed and takes no further Turn`)
    : notEligible(session.id)
}

/** V3 */
export const ownedSession = (draft: Draft, caller: Caller, id: SessionId): Result<Session> => {
  const session = draft.session(id)
  if (session !== undefined && owns(draft, caller.session, session)) return ok(session)
  return unknown("sessionId", `${id} is no owned descendant of this Session`)
}

/** V3 */
export const ownedTurn = (
  draft: Draft,
  caller: Caller,
  target: { readonly sessionId: SessionId; readonly turnId: TurnId },
): Result<TurnTarget> => {
  const session = ownedSession(draft, caller, target.sessionId)
  return session.ok ? turnOf(draft, session.value, target.turnId) : session
}

/** V3; a hold is reached through the Session that it is placed on, not through one that inherits it. */
export const ownedHold = (
  draft: Draft,
  caller: Caller,
  target: { readonly sessionId: SessionId; readonly holdId: HoldId },
): Result<{ readonly session: Session; readonly hold: Hold }> => {
  const session = ownedSession(draft, caller, target.sessionId)
  if (!session.ok) return session
  const hold = draft.hold(target.holdId)
  if (hold !== undefined && hold.sessionId === session.value.id) return ok({ session: session.value, hold })
  return unknown("holdId", `${target.holdId} is no hold placed on Session ${target.sessionId}`)
}
