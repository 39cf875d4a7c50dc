/** What an Environment holds: the only targets of a call from outside (X2). */
import { ok, type Result } from "@computerd/protocol/errors"
import type {
  ComputerId,
  DeploymentId,
  EnvironmentKey,
  HoldId,
  SessionId,
  TurnId,
} from "@computerd/protocol/ids"
import type { Draft } from "../draft.ts"
import type { Computer, Deployment, Hold, Session } from "../entities.ts"
import type { TurnTarget } from "../reach.ts"
import { missing } from "./call.ts"

export interface Where {
  readonly draft: Draft
  readonly environment: EnvironmentKey
}

export const sessionIn = ({ draft, environment }: Where, id: SessionId): Result<Session> => {
  const session = draft.session(id)
  return session?.environment === environment ? ok(session) : missing("Session")
}

export const turnIn = (
  where: Where,
  target: { readonly sessionId: SessionId; readonly turnId: TurnId },
): Result<TurnTarget> => {
  const session = sessionIn(where, target.sessionId)
  if (!session.ok) return session
  const turn = where.draft.turn(target.turnId)
  return turn?.sessionId === target.sessionId ? ok({ session: session.value, turn }) : missing("Turn")
}

/** A hold is reached through the Session that it is placed on. */
export const holdIn = (
  where: Where,
  target: { readonly sessionId: SessionId; readonly holdId: HoldId },
): Result<{ readonly session: Session; readonly hold: Hold }> => {
  const session = sessionIn(where, target.sessionId)
  if (!session.ok) return session
  const hold = where.draft.hold(target.holdId)
  return hold?.sessionId === target.sessionId
    ? ok({ session: session.value, hold })
    : missing("hold on this Session", "holdId")
}

export const computerIn = (
  { draft, environment }: Where,
  id: ComputerId,
  field?: string,
): Result<Computer> => {
  const computer = draft.computer(id)
  return computer?.environment === environment ? ok(computer) : missing("Computer", field)
}

/** Absent: the current one. */
export const deploymentIn = (
  { draft, environment }: Where,
  id: DeploymentId | undefined,
): Result<Deployment> => {
  const pin = id ?? draft.state.currentDeployment(environment)
  const deployment = pin === undefined ? undefined : draft.state.deployment(pin)
  if (deployment?.environment === environment) return ok(deployment)
  return id === undefined
    ? missing("Deployment: publish a program first")
    : missing("Deployment", "deploymentId")
}
