/**
 * New Computers, Sessions and Turns, whoever asked for them.
 *
 * N1 Agent, Deployment, Computer and first Turn are fixed at admission
 */
import type { Content } from "@computerd/protocol/content"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { AgentManifest } from "@computerd/protocol/manifest"
import type { Answer } from "./admission.ts"
import type { Draft } from "./draft.ts"
import type { Computer, Deployment, Session, Turn } from "./entities.ts"
import type { Given } from "./given.ts"

export const findAgent = (deployment: Deployment, key: string): Result<AgentManifest> => {
  const agent = deployment.manifest.agents.find((one) => one.id === key)
  if (agent !== undefined) return ok(agent)
  const shown = JSON.stringify(key.slice(0, 128))
  return fail("target_not_published", `Deployment ${deployment.id} has no Agent ${shown}`, "agent")
}

export interface ComputerPin {
  readonly deployment: Deployment
  readonly template: string
  readonly key: string | null
}

export const makeComputer = (draft: Draft, pin: ComputerPin, given: Given): Computer => {
  const template = pin.deployment.manifest.templates.find((one) => one.id === pin.template)
  const computer: Computer = {
    id: given.newId("cmp"),
    environment: pin.deployment.environment,
    deploymentId: pin.deployment.id,
    template: pin.template,
    key: pin.key,
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

/** From the Agent's own Template, for the Session that is made with it. */
export const newComputer = (
  draft: Draft,
  pin: { readonly deployment: Deployment; readonly agent: AgentManifest },
  given: Given,
): Computer =>
  makeComputer(draft, { deployment: pin.deployment, template: pin.agent.template, key: null }, given)

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
