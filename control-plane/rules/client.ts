/** Work that comes from outside: a client's start. It runs the Environment's current Deployment. */
import { type Content, contentProblem, contentSizeProblem, utf8Bytes } from "@computerd/protocol/content"
import { type Failure, fail, ok, type Result } from "@computerd/protocol/errors"
import type { ComputerId, EnvironmentKey } from "@computerd/protocol/ids"
import { idempotencyKeyMaxBytes } from "@computerd/protocol/limits"
import type { Admitted } from "./admission.ts"
import type { Draft } from "./draft.ts"
import type { Computer, Deployment } from "./entities.ts"
import type { Given } from "./given.ts"
import { createSession, findAgent, newComputer } from "./making.ts"
import { receiptCaller } from "./outside/call.ts"
import { computerIn } from "./outside/reach.ts"
import { progress } from "./progress.ts"
import { repeatable, retain, retained } from "./receipts.ts"
import { hasCommandRoom } from "./room.ts"

export interface StartRequest {
  readonly environment: EnvironmentKey
  readonly agent: string
  readonly input: Content
  readonly idempotencyKey: string
  readonly sessionKey?: string | undefined
  /** Absent: a new Computer. */
  readonly computerId?: ComputerId | undefined
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

const shownMax = 20

/** A client may know every Agent; a Session only those that it is granted. */
const withChoice = (error: Failure, { manifest }: Deployment): Result<never> => {
  const ids = manifest.agents.map(({ id }) => id)
  const more = ids.length > shownMax ? ` and ${ids.length - shownMax} more` : ""
  const message = `${error.message}; it has ${ids.slice(0, shownMax).join(", ")}${more}`
  return { ok: false, error: { ...error, message } }
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

/** A Computer of the same Environment keeps its own Template and Deployment, whatever runs on it. */
const placed = (draft: Draft, { environment }: StartRequest, id: ComputerId): Result<Computer> => {
  const computer = computerIn({ draft, environment }, id, "computerId")
  if (!computer.ok) return computer
  const room = hasCommandRoom(computer.value)
  if (!room.ok) return room
  return computer.value.status === "available"
    ? computer
    : invalid("computerId", `names a Computer that is ${computer.value.status}`)
}

/** The current Deployment is chosen once; a repeated request finds the first one's Session. */
export const startFromOutside = (draft: Draft, request: StartRequest, given: Given): Result<Admitted> => {
  const shape = checkStart(request)
  if (!shape.ok) return shape
  const { environment, agent: key, input, sessionKey, computerId } = request
  const identity = repeatable(
    {
      caller: receiptCaller(environment),
      key: request.idempotencyKey,
      tool: "start",
      arguments: { agent: key, input, sessionKey, computerId },
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
  if (!agent.ok) return withChoice(agent.error, deployment)
  if (sessionKey !== undefined && draft.state.sessionByKey(environment, sessionKey) !== undefined)
    return invalid("sessionKey", "belongs to a Session that is not closed; choose another one")
  const computer =
    computerId === undefined
      ? ok(newComputer(draft, { deployment, agent: agent.value }, given))
      : placed(draft, request, computerId)
  if (!computer.ok) return computer
  const answer = createSession(
    draft,
    {
      deployment,
      agent: agent.value,
      computer: computer.value,
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
