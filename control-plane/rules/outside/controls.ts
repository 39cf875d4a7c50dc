/** Controls from outside: whoever acts for an Environment owns every tree in it, as its operator does. */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { HoldId, SessionId, TurnId } from "@computerd/protocol/ids"
import { endNow, notClosed, stopTurn } from "../controls.ts"
import type { Hold, Session } from "../entities.ts"
import { interrupt, releasableByOperator, release } from "../holds.ts"
import type { TurnTarget } from "../reach.ts"
import { outsideMutation } from "./call.ts"
import { holdIn, sessionIn, turnIn } from "./reach.ts"

export interface ControlFromOutside {
  readonly sessionId: SessionId
  readonly idempotencyKey: string
}

export interface InterruptFromOutside extends ControlFromOutside {
  readonly turnId?: TurnId | undefined
}

export interface ResumeFromOutside extends ControlFromOutside {
  readonly holdId: HoldId
}

/** The whole tree, or the one Turn that was named. */
type Interrupted = { readonly session: Session } | TurnTarget

export const interruptFromOutside = outsideMutation<InterruptFromOutside, Interrupted>("interruptSession", {
  resolve: (call): Result<Interrupted> => {
    const { sessionId, turnId } = call.arguments
    if (turnId !== undefined) return turnIn(call, { sessionId, turnId })
    const session = sessionIn(call, sessionId)
    return session.ok ? ok({ session: session.value }) : session
  },
  effect: ({ draft, given }, target) => {
    const living = notClosed(target.session)
    if (!living.ok) return living
    if ("turn" in target) return stopTurn(draft, target, given)
    const { session } = target
    const hold = interrupt(draft, { session, placedBy: null }, given)
    return ok({ id: given.newId("ctl"), sessionId: session.id, status: "accepted", holdId: hold.id })
  },
})

export const resumeFromOutside = outsideMutation<
  ResumeFromOutside,
  { readonly session: Session; readonly hold: Hold }
>("resumeSession", {
  resolve: (call) => holdIn(call, call.arguments),
  effect: ({ draft, given }, { session, hold }) => {
    const living = notClosed(session)
    if (!living.ok) return living
    if (!releasableByOperator(hold))
      return fail("invalid_arguments", "the hold is released by the system alone", "holdId")
    release(draft, hold, given)
    return ok({ id: given.newId("ctl"), sessionId: session.id, status: "accepted", holdId: hold.id })
  },
})

const ending = (tool: string, mode: "close" | "cancel") =>
  outsideMutation<ControlFromOutside, Session>(tool, {
    resolve: (call) => sessionIn(call, call.arguments.sessionId),
    effect: ({ draft, given }, session) => ok(endNow(draft, { session, mode }, given)),
  })

export const closeFromOutside = ending("closeSession", "close")
export const cancelFromOutside = ending("cancelSession", "cancel")
