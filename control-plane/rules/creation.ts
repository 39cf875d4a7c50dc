/**
 * New Sessions: `spawn`, `start` and starts from outside.
 *
 * N1 Agent, Deployment, Computer and first Turn are fixed at admission
 * N2 a creation that names no Computer asks for a new one, on every retry
 * N3 children create nothing; each Environment bounds how deep delegation goes
 */
import type { Content } from "@computerd/protocol/content"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { ComputerId } from "@computerd/protocol/ids"
import type { AgentManifest } from "@computerd/protocol/manifest"
import { type Answer, type Decide, mutation } from "./admission.ts"
import type { Caller } from "./caller.ts"
import type { Draft } from "./draft.ts"
import type { Computer, Deployment, Session, Turn } from "./entities.ts"
import type { Given } from "./given.ts"
import { checkGrant } from "./grant.ts"
import { hasCommandRoom } from "./room.ts"

export interface CreationArguments {
  readonly agent: string
  readonly input: Content
  readonly idempotencyKey: string
  readonly computerId?: ComputerId | undefined
}

export const findAgent = (deployment: Deployment, key: string): Result<AgentManifest> => {
  const agent = deployment.manifest.agents.find((one) => one.id === key)
  if (agent !== undefined) return ok(agent)
  const shown = JSON.stringify(key.slice(0, 128))
  return fail("target_not_published", `Deployment ${deployment.id} has no Agent ${shown}`, "agent")
}

export const newComputer = (
  draft: Draft,
  pin: { readonly deployment: Deployment; readonly agent: AgentManifest },
  given: Given,
): Computer => {
  const template = pin.deployment.manifest.templates.find((one) => one.id === pin.agent.template)
  const computer: Computer = {
    id: given.newId("cmp"),
    environment: pin.deployment.environment,
    deploymentId: pin.deployment.id,
    template: pin.agent.template,
    key: null,
    status: "available",
    residency: "cold",
    desired: "idle",
    error: null,
    deleteAfterUnusedMs: template?.deleteAfterUnusedMs ?? null,
    unusedSince: null,
    wantedSince: null,
    parkableSince: null,
    epoch: 0,
    leaseUntil: null,
    storeId: null,
    bootId: null,
    attached: false,
    commandSeq: 0,
    commandAck: 0,
    createdAt: given.now,
    updatedAt: given.now,
  }
  draft.addComputer(computer)
  return computer
}

export interface NewSession {
  readonly deployment: Deployment
  readonly agent: AgentManifest
  readonly computer: Computer
  readonly requester: Session | undefined
  readonly originTurn: Turn | undefined
  readonly owned: boolean
  readonly key: string | null
  readonly input: Content
}

/** The Turn that runs in the Session now, if one does: what new work came from. */
export const runningTurn = (draft: Draft, session: Session): Turn | undefined =>
  draft.unsettled(session.id, 1).find((turn) => turn.status === "running")

export const newTurn = (
  draft: Draft,
  request: {
    readonly sessionId: Session["id"]
    readonly sequence: number
    readonly requester: Session | undefined
    readonly originTurn: Turn | undefined
    readonly input: Content
  },
  given: Given,
): Turn => {
  const turn: Turn = {
    id: given.newId("trn"),
    sessionId: request.sessionId,
    sequence: request.sequence,
    status: "queued",
    dispatched: false,
    stop: null,
    requesterId: request.requester?.id ?? null,
    originTurnId: request.originTurn?.id ?? null,
    createdAt: given.now,
    startedAt: null,
    settledAt: null,
    error: null,
    payloadExpiredAt: null,
  }
  draft.addTurn(turn, request.input)
  return turn
}

/** N1 */
export const createSession = (draft: Draft, request: NewSession, given: Given): Answer => {
  const { agent, computer, deployment, requester } = request
  const id = given.newId("ses")
  const parent = request.owned ? requester : undefined
  const turn = newTurn(draft, { ...request, sessionId: id, sequence: 1 }, given)
  draft.addSession({
    id,
    environment: deployment.environment,
    key: request.key,
    deploymentId: deployment.id,
    agent: agent.id,
    template: agent.template,
    computerId: computer.id,
    role: parent === undefined ? "root" : "child",
    rootId: parent?.rootId ?? id,
    parentId: parent?.id ?? null,
    requesterId: requester?.id ?? null,
    depth: requester === undefined ? 0 : requester.depth + 1,
    status: "open",
    closing: "none",
    closeAfterIdleMs: agent.closeAfterIdleMs,
    idleSince: null,
    idleDue: null,
    initialTurnId: turn.id,
    lastSequence: 1,
    generation: 0,
    process: "none",
    losses: 0,
    lossReason: null,
    createdAt: given.now,
    closedAt: null,
  })
  draft.reassign(id)
  if (parent !== undefined) draft.touch(parent.id)
  return { sessionId: id, turnId: turn.id, sequence: 1 }
}

/** N3 */
const checkRole = (caller: Caller, given: Given): Result<void> => {
  if (caller.session.role === "child")
    return fail("root_session_required", "a child Session creates no work; report the need to its owner")
  const max = given.settings.environments(caller.session.environment).delegationDepthMax
  if (caller.session.depth < max) return ok(undefined)
  return fail(
    "delegation_depth_exceeded",
    `this Environment allows ${max} steps of delegation and this Session is at step ${caller.session.depth}`,
  )
}

/** Any Computer but a finite scope's own is beyond the contract, existing or not. */
const checkPlacement = (draft: Draft, caller: Caller, computerId: ComputerId | undefined): Result<void> => {
  if (computerId === undefined || computerId === caller.computer.id) return ok(undefined)
  if (caller.scope.kind === "finite")
    return fail("runtime_mcp_denied", "computerId must be the caller's own Computer", "computerId")
  const computer = draft.computer(computerId)
  if (computer?.environment === caller.session.environment && computer.status === "available")
    return ok(undefined)
  return fail(
    "invalid_arguments",
    `computerId ${computerId} is no Computer of this Environment`,
    "computerId",
  )
}

const placed = (draft: Draft, computerId: ComputerId): Result<Computer> => {
  const computer = draft.computer(computerId)
  const room = hasCommandRoom(computer)
  if (!room.ok) return room
  if (computer?.status === "available") return ok(computer)
  return fail("invalid_arguments", `computerId ${computerId} is being deleted`, "computerId")
}

/** Spawning counts as work of the parent. */
const restartIdleClock = (draft: Draft, parent: Session, given: Given): void => {
  const session = draft.session(parent.id)
  if (session === undefined || session.idleSince === null) return
  draft.putSession({ ...session, idleSince: given.now })
}

export const creation = (operation: "spawn" | "start"): Decide<CreationArguments> =>
  mutation<CreationArguments, AgentManifest>(operation, {
    resolve: ({ caller, arguments: asked }) => findAgent(caller.deployment, asked.agent),
    allowed: ({ draft, caller, arguments: asked }, agent) => {
      const placement = asked.computerId === undefined ? "new" : "caller"
      const granted = checkGrant(caller, { operation, agent: agent.id, placement })
      return granted.ok ? checkPlacement(draft, caller, asked.computerId) : granted
    },
    effect: ({ draft, caller, arguments: asked, given }, agent) => {
      const role = checkRole(caller, given)
      if (!role.ok) return role
      const { deployment, session: requester } = caller
      const computer: Result<Computer> =
        asked.computerId === undefined
          ? ok(newComputer(draft, { deployment, agent }, given))
          : placed(draft, asked.computerId)
      if (!computer.ok) return computer
      const owned = operation === "spawn"
      if (owned) restartIdleClock(draft, requester, given)
      const originTurn = runningTurn(draft, requester)
      return ok(
        createSession(
          draft,
          {
            deployment,
            agent,
            computer: computer.value,
            requester,
            originTurn,
            owned,
            key: null,
            input: asked.input,
          },
          given,
        ),
      )
    },
  })
