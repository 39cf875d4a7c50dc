/** Work and controls that come from outside: a client's start, an operator's control. The operator owns every tree. */
import { type Content, contentProblem, contentSizeProblem, utf8Bytes } from "@computerd/protocol/content"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { EnvironmentKey, HoldId, SessionId } from "@computerd/protocol/ids"
import { idempotencyKeyMaxBytes } from "@computerd/protocol/limits"
import type { Admitted } from "./admission.ts"
import { end } from "./controls.ts"
import { createSession, findAgent, newComputer } from "./creation.ts"
import type { Draft } from "./draft.ts"
import type { Session } from "./entities.ts"
import type { Given } from "./given.ts"
import { interrupt, pressStorage, releasableByOperator, release, relieveStorage } from "./holds.ts"
import { progress } from "./progress.ts"
import { repeatable, retain, retained } from "./receipts.ts"

export interface StartRequest {
  readonly environment: EnvironmentKey
  readonly agent: string
  readonly input: Content
  readonly idempotencyKey: string
  readonly sessionKey?: string
}

const invalid = (field: string, problem: string): ReturnType<typeof fail> =>
  fail("invalid_arguments", `${field} ${problem}`, field)

const checkKey = (field: string, key: string | undefined): Result<void> => {
  if (key === undefined) return ok(undefined)
  const fits = key.length > 0 && key.isWellFormed() && !key.includes("\0")
  if (fits && utf8Bytes(key) <= idempotencyKeyMaxBytes) return ok(undefined)
  return invalid(field, `must be 1 to ${idempotencyKeyMaxBytes} bytes of well-formed text without NUL`)
}

const checkInput = (input: Content): Result<void> => {
  const problem = contentProblem(input) ?? contentSizeProblem(input)
  return problem === undefined
    ? ok(undefined)
    : fail(problem.code, `input${problem.at} ${problem.message}`, "input")
}

const checkStart = (request: StartRequest): Result<void> => {
  for (const result of [
    checkKey("idempotencyKey", request.idempotencyKey),
    checkKey("sessionKey", request.sessionKey),
    checkInput(request.input),
  ]) {
    if (!result.ok) return result
  }
  return ok(undefined)
}

/** The current Deployment is chosen once; a repeated request finds the first one's Session. */
export const startFromOutside = (draft: Draft, request: StartRequest, given: Given): Result<Admitted> => {
  const shape = checkStart(request)
  if (!shape.ok) return shape
  const { environment, agent: key, input, sessionKey } = request
  const identity = repeatable(
    {
      caller: `environment:${environment}`,
      key: request.idempotencyKey,
      tool: "start",
      arguments: { agent: key, input, sessionKey },
    },
    given,
  )
  const receipt = retained(draft, identity)
  if (!receipt.ok) return receipt
  if (receipt.value !== undefined) return ok({ answer: receipt.value.answer, repeated: true })
  const current = draft.state.currentDeployment(environment)
  const deployment = current === undefined ? undefined : draft.state.deployment(current)
  if (deployment === undefined)
    return fail("not_found", `Environment ${environment} has no Deployment; publish a program first`)
  const agent = findAgent(deployment, key)
  if (!agent.ok) return agent
  if (sessionKey !== undefined && draft.state.sessionByKey(environment, sessionKey) !== undefined)
    return invalid("sessionKey", "belongs to a Session that is not closed; choose another one")
  const answer = createSession(
    draft,
    {
      deployment,
      agent: agent.value,
      computer: newComputer(draft, { deployment, agent: agent.value }, given),
      requester: undefined,
      originTurn: undefined,
      owned: false,
      key: sessionKey ?? null,
      input,
    },
    given,
  )
  retain(draft, { ...identity, answer, expiresAt: given.now + given.settings.receiptRetentionMs }, given)
  progress(draft, given)
  return ok({ answer, repeated: false })
}

export type OperatorControl =
  | { readonly kind: "interrupt" | "close" | "cancel"; readonly sessionId: SessionId }
  /** Said by the system, never by a person: the Computer's disk is full, or has room again. */
  | { readonly kind: "storage_pressure" | "storage_relieved"; readonly sessionId: SessionId }
  | { readonly kind: "release"; readonly sessionId: SessionId; readonly holdId: HoldId }

export interface OperatorReceipt {
  readonly sessionId: SessionId
  readonly status: "open" | "closing" | "closed"
  readonly holdId?: HoldId
}

const releaseByOperator = (
  draft: Draft,
  request: Extract<OperatorControl, { kind: "release" }>,
  given: Given,
): Result<HoldId> => {
  const hold = draft.hold(request.holdId)
  if (hold === undefined || hold.sessionId !== request.sessionId)
    return invalid("holdId", `${request.holdId} is no hold placed on Session ${request.sessionId}`)
  if (!releasableByOperator(hold)) return invalid("holdId", `${hold.id} is released by the system alone`)
  release(draft, hold, given)
  return ok(hold.id)
}

const perform = (
  draft: Draft,
  target: { readonly session: Session; readonly request: OperatorControl },
  given: Given,
): Result<HoldId | undefined> => {
  const { session, request } = target
  switch (request.kind) {
    case "interrupt":
      return ok(interrupt(draft, { session, placedBy: null }, given).id)
    case "storage_pressure":
      return ok(pressStorage(draft, session, given).id)
    case "storage_relieved":
      relieveStorage(draft, session, given)
      return ok(undefined)
    case "close":
    case "cancel":
      end(draft, session, request.kind)
      return ok(undefined)
    case "release":
      return releaseByOperator(draft, request, given)
  }
}

export const controlFromOutside = (
  draft: Draft,
  request: OperatorControl,
  given: Given,
): Result<OperatorReceipt> => {
  const session = draft.session(request.sessionId)
  if (session === undefined) return fail("not_found", `Session ${request.sessionId} does not exist`)
  const ends = request.kind === "close" || request.kind === "cancel"
  if (session.status === "closed" && !ends) return invalid("sessionId", `${session.id} is closed`)
  const done = perform(draft, { session, request }, given)
  if (!done.ok) return done
  progress(draft, given)
  const status = draft.session(session.id)?.status ?? session.status
  return ok({
    sessionId: session.id,
    status,
    ...(done.value === undefined ? {} : { holdId: done.value }),
  })
}
