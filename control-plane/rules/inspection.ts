/** Reading one Session or one Turn. */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { SessionId, TurnId } from "@computerd/protocol/ids"
import { type Admission, type Answer, type Decide, observation, type ToolRule } from "./admission.ts"
import { isWaitBlocked } from "./capacity.ts"
import { isSettled, type Session } from "./entities.ts"
import { checkGrant } from "./grant.ts"
import { accessibleSession, accessibleTurn, type TurnTarget } from "./reach.ts"
import { outcomeView, sessionView } from "./views.ts"

export interface SessionArguments {
  readonly sessionId: SessionId
}

export interface TurnArguments extends SessionArguments {
  readonly turnId: TurnId
}

export interface WaitArguments extends TurnArguments {
  readonly timeoutMs: number
}

export const inspectSession: Decide<SessionArguments> = observation<SessionArguments, Session>({
  resolve: ({ draft, caller, arguments: asked }) => accessibleSession(draft, caller, asked.sessionId),
  allowed: ({ caller }, session) =>
    checkGrant(caller, { operation: "inspect_session", agent: session.agent }),
  effect: ({ draft, caller }, session) => ok(sessionView(draft, caller.session, session)),
})

const ofTurn = <Arguments extends TurnArguments>(
  effect: (admission: Admission<Arguments>, target: TurnTarget) => Result<Answer>,
): ToolRule<Arguments, TurnTarget> => ({
  resolve: ({ draft, caller, arguments: asked }) => accessibleTurn(draft, caller, asked),
  allowed: ({ caller }, target) =>
    checkGrant(caller, { operation: "inspect_turn", agent: target.session.agent }),
  effect,
})

const isBlocked = (admission: Admission<TurnArguments>, target: TurnTarget): boolean =>
  isWaitBlocked(
    admission.draft,
    { caller: admission.caller.session, session: target.session, turn: target.turn },
    admission.given,
  )

export const inspectTurn: Decide<TurnArguments> = observation<TurnArguments, TurnTarget>(
  ofTurn((admission, target) => {
    const { session, turn } = target
    const identity = { id: turn.id, sessionId: session.id }
    if (isSettled(turn)) return ok({ ...identity, ...outcomeView(admission.draft, turn) })
    const blocked = isBlocked(admission, target) ? { waitBlocked: true } : {}
    return ok({ ...identity, status: turn.status, ...blocked })
  }),
)

/** Answers at once when it can; `timeout` means: not settled as of now, and waiting may help. */
export const lookAtTurn: Decide<WaitArguments> = observation<WaitArguments, TurnTarget>(
  ofTurn((admission, target) => {
    const { turn } = target
    if (isSettled(turn)) return ok({ status: "settled", outcome: outcomeView(admission.draft, turn) })
    if (!isBlocked(admission, target)) return ok({ status: "timeout" })
    return fail(
      "capacity_wait_blocked",
      `Turn ${turn.id} needs the room that this Session's Computer holds; end this Turn so that it can run`,
    )
  }),
)
