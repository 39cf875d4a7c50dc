/**
 * Controls over owned descendants. A receipt says that the control was accepted, not that anything has stopped.
 *
 * T1 `interrupt_turn` ends one running Turn, places no hold and leaves children alone
 * T2 `interrupt_session`, `close_session` and `cancel_session` act on the whole subtree
 * T3 a closed Session answers `closed` to close and cancel; it can be neither interrupted nor resumed
 */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { HoldId, SessionId, TurnId } from "@computerd/protocol/ids"
import { type Answer, type Decide, mutation } from "./admission.ts"
import { beginClosing, cancelTree } from "./closing.ts"
import type { Draft } from "./draft.ts"
import type { Hold, Session } from "./entities.ts"
import type { Given } from "./given.ts"
import { checkGrant } from "./grant.ts"
import { canRelease, interrupt, release } from "./holds.ts"
import { progress } from "./progress.ts"
import { ownedHold, ownedSession, ownedTurn, type TurnTarget } from "./reach.ts"
import { requestStop } from "./settle.ts"

export interface SessionControlArguments {
  readonly sessionId: SessionId
  readonly idempotencyKey: string
}

export interface TurnControlArguments extends SessionControlArguments {
  readonly turnId: TurnId
}

export interface ResumeArguments extends SessionControlArguments {
  readonly holdId: HoldId
}

/** T3 */
export const notClosed = (session: Session): Result<void> =>
  session.status === "closed"
    ? fail("invalid_arguments", `sessionId ${session.id} is closed`, "sessionId")
    : ok(undefined)

/** T1 */
const interruptible = (target: TurnTarget): Result<void> => {
  const { turn } = target
  if (turn.status === "running") return ok(undefined)
  const reason = turn.status === "queued" ? "it has not started" : "it has already settled"
  return fail("turn_not_interruptible", `Turn ${turn.id} is ${turn.status}: ${reason}`, "turnId")
}

/** T1 */
export const stopTurn = (draft: Draft, target: TurnTarget, given: Given): Result<Answer> => {
  const running = interruptible(target)
  if (!running.ok) return running
  requestStop(draft, target.turn, "interrupted", given)
  return ok({
    id: given.newId("ctl"),
    sessionId: target.session.id,
    turnId: target.turn.id,
    status: "accepted",
  })
}

export const interruptTurn: Decide<TurnControlArguments> = mutation<TurnControlArguments, TurnTarget>(
  "interrupt_turn",
  {
    resolve: ({ draft, caller, arguments: asked }) => ownedTurn(draft, caller, asked),
    allowed: ({ caller }, target) =>
      checkGrant(caller, { operation: "interrupt_turn", agent: target.session.agent }),
    effect: ({ draft, given }, target) => stopTurn(draft, target, given),
  },
)

export const interruptSession: Decide<SessionControlArguments> = mutation<SessionControlArguments, Session>(
  "interrupt_session",
  {
    resolve: ({ draft, caller, arguments: asked }) => ownedSession(draft, caller, asked.sessionId),
    allowed: ({ caller }, session) =>
      checkGrant(caller, { operation: "interrupt_session", agent: session.agent }),
    effect: ({ draft, caller, given }, session) => {
      const living = notClosed(session)
      if (!living.ok) return living
      const hold = interrupt(draft, { session, placedBy: caller.session }, given)
      return ok({ id: given.newId("ctl"), sessionId: session.id, status: "accepted", holdId: hold.id })
    },
  },
)

/** T2; also what an operator and an idle period do. */
export const end = (draft: Draft, session: Session, mode: "close" | "cancel"): void => {
  if (mode === "cancel") cancelTree(draft, session)
  else beginClosing(draft, session, "close")
}

/** The status that the receipt names is the one after every consequence of the call. */
const statusAfter = (draft: Draft, session: Session, given: Given): "closing" | "closed" => {
  progress(draft, given)
  return draft.session(session.id)?.status === "closed" ? "closed" : "closing"
}

export const endNow = (
  draft: Draft,
  target: { readonly session: Session; readonly mode: "close" | "cancel" },
  given: Given,
): Answer => {
  end(draft, target.session, target.mode)
  return { sessionId: target.session.id, status: statusAfter(draft, target.session, given) }
}

const ending = (
  tool: "close_session" | "cancel_session",
  mode: "close" | "cancel",
): Decide<SessionControlArguments> =>
  mutation<SessionControlArguments, Session>(tool, {
    resolve: ({ draft, caller, arguments: asked }) => ownedSession(draft, caller, asked.sessionId),
    allowed: ({ caller }, session) => checkGrant(caller, { operation: tool, agent: session.agent }),
    effect: ({ draft, given }, session) => ok(endNow(draft, { session, mode }, given)),
  })

export const closeSession = ending("close_session", "close")
export const cancelSession = ending("cancel_session", "cancel")

export const resumeSession: Decide<ResumeArguments> = mutation<
  ResumeArguments,
  { readonly session: Session; readonly hold: Hold }
>("resume_session", {
  resolve: ({ draft, caller, arguments: asked }) => ownedHold(draft, caller, asked),
  allowed: ({ caller }, target) =>
    checkGrant(caller, { operation: "resume_session", agent: target.session.agent }),
  effect: ({ draft, caller, given }, { session, hold }) => {
    const living = notClosed(session)
    if (!living.ok) return living
    if (!canRelease(draft, caller.session, hold))
      return fail("invalid_arguments", `holdId ${hold.id} cannot be released by this Session`, "holdId")
    release(draft, hold, given)
    return ok({ id: given.newId("ctl"), sessionId: session.id, status: "accepted", holdId: hold.id })
  },
})
