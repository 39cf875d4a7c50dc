/**
 * Who calls: a Session process on its Computer, under the epoch of the supervisor that relays.
 *
 * A1 an older epoch, an older generation, another Computer, a hold or the end of the Session mean that authority was
 *    lost while the call was under way: `authority_changed`
 */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { ComputerId } from "@computerd/protocol/ids"
import type { AdmissionRequest } from "@computerd/protocol/link"
import type { AgentManifest } from "@computerd/protocol/manifest"
import type { Scope } from "@computerd/protocol/scope"
import type { Draft } from "./draft.ts"
import type { Computer, Deployment, Session } from "./entities.ts"
import { isHeld } from "./holds.ts"

export interface Call {
  readonly computerId: ComputerId
  readonly epoch: number
  readonly request: AdmissionRequest
}

export interface Caller {
  readonly session: Session
  readonly computer: Computer
  readonly deployment: Deployment
  readonly agent: AgentManifest
  /** Of the descriptor that was presented. */
  readonly scope: Scope
}

const lost = (what: string): ReturnType<typeof fail> =>
  fail("authority_changed", `${what}; inspect the target before deciding again`)

const checkLease = (computer: Computer, epoch: number, now: number): Result<void> => {
  if (epoch !== computer.epoch) return lost("another supervisor owns this Computer now")
  if (computer.leaseUntil === null || computer.leaseUntil <= now)
    return fail(
      "admission_unavailable",
      "the Computer's lease has lapsed; retry with the same idempotencyKey",
    )
  return ok(undefined)
}

const checkProcess = (session: Session, request: AdmissionRequest): Result<void> => {
  if (request.generation < session.generation) return lost("a newer process runs this Session")
  if (request.generation > session.generation)
    return fail(
      "admission_unavailable",
      "this process is not known here yet; retry with the same idempotencyKey",
    )
  return ok(undefined)
}

/** A draining Turn keeps its Session's authority; a cancelled or drained Session has none. */
const checkLife = (draft: Draft, session: Session): Result<void> => {
  if (session.status === "closed") return lost("this Session is closed")
  if (session.closing === "cancel") return lost("this Session was cancelled")
  if (session.closing === "close" && draft.unsettled(session.id, 1).length === 0)
    return lost("this Session is closing and has no Turn left")
  return isHeld(draft, session) ? lost("this Session is held") : ok(undefined)
}

export const identify = (draft: Draft, call: Call, now: number): Result<Caller> => {
  const { request } = call
  const computer = draft.computer(call.computerId)
  const session = draft.session(request.sessionId)
  if (computer === undefined || session === undefined || session.computerId !== computer.id)
    return lost("this Session does not run on this Computer")
  for (const check of [
    () => checkLease(computer, call.epoch, now),
    () => checkProcess(session, request),
    () => checkLife(draft, session),
  ]) {
    const result = check()
    if (!result.ok) return result
  }
  const deployment = draft.state.deployment(session.deploymentId)
  const agent = deployment?.manifest.agents.find((one) => one.id === session.agent)
  if (deployment === undefined || agent === undefined)
    return fail("internal", "the Deployment of this Session cannot be read; see the control plane's log")
  return ok({ session, computer, deployment, agent, scope: request.scope })
}
