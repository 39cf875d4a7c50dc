/** What the public API shows of the state. Each resource shows its own pin and nobody else's. */
import type { Agent } from "@computerd/protocol/api/agents"
import type { Computer as ComputerView } from "@computerd/protocol/api/computers"
import type { Deployment as DeploymentView } from "@computerd/protocol/api/deployments"
import type { SessionHold, Session as SessionView } from "@computerd/protocol/api/sessions"
import type { Template } from "@computerd/protocol/api/templates"
import type { TurnResult, Turn as TurnView } from "@computerd/protocol/api/turns"
import { timestamp } from "@computerd/protocol/content"
import type { AgentManifest, TemplateManifest } from "@computerd/protocol/manifest"
import type { Draft } from "../draft.ts"
import type { Computer, Deployment, Hold, Session, Turn } from "../entities.ts"
import { effectiveHolds, releasableByOperator } from "../holds.ts"

const time = (at: number | null): string | null => (at === null ? null : timestamp(at))

export const deploymentView = (
  draft: Draft,
  { id, environment, manifest, createdAt }: Deployment,
): DeploymentView => ({
  id,
  current: draft.state.currentDeployment(environment) === id,
  agents: manifest.agents.map((agent) => agent.id),
  templates: manifest.templates.map((template) => template.id),
  createdAt: timestamp(createdAt),
})

/** Publication writes finite maxima alone. */
export const agentView = ({ id: deploymentId }: Deployment, agent: AgentManifest): Agent => ({
  id: agent.id,
  deploymentId,
  template: agent.template,
  runtimeMcp: { allow: agent.runtimeMcp.kind === "finite" ? [...agent.runtimeMcp.allow] : [] },
  closeAfterIdleMs: agent.closeAfterIdleMs,
})

export const templateView = ({ id: deploymentId }: Deployment, template: TemplateManifest): Template => ({
  ...template,
  deploymentId,
})

export const computerView = (computer: Computer): ComputerView => ({
  id: computer.id,
  key: computer.key,
  template: computer.template,
  deploymentId: computer.deploymentId,
  status: computer.status,
  residency: computer.residency,
  error: computer.error === null ? null : { code: "computer_unavailable", message: computer.error },
  deleteAfterUnusedMs: computer.deleteAfterUnusedMs,
  unusedSince: time(computer.unusedSince),
  createdAt: timestamp(computer.createdAt),
  updatedAt: timestamp(computer.updatedAt),
})

const holdView = (hold: Hold): SessionHold => ({
  id: hold.id,
  sessionId: hold.sessionId,
  kind: hold.kind,
  createdAt: timestamp(hold.createdAt),
  ...(hold.gap === null ? {} : { recoveryGap: hold.gap }),
  canRelease: releasableByOperator(hold),
})

const initialTurn = (draft: Draft, { initialTurnId }: Session): SessionView["initialTurn"] => {
  const turn = initialTurnId === null ? undefined : draft.turn(initialTurnId)
  return turn === undefined ? null : { id: turn.id, status: turn.status }
}

export const sessionView = (draft: Draft, session: Session): SessionView => ({
  id: session.id,
  key: session.key,
  agent: session.agent,
  template: session.template,
  deploymentId: session.deploymentId,
  computerId: session.computerId,
  rootSessionId: session.rootId,
  parentSessionId: session.parentId,
  requesterSessionId: session.requesterId,
  initialTurn: initialTurn(draft, session),
  status: session.status,
  process: session.process,
  generation: session.generation,
  closeAfterIdleMs: session.closeAfterIdleMs,
  idleSince: time(session.idleSince),
  holds: effectiveHolds(draft, session).map(holdView),
  createdAt: timestamp(session.createdAt),
  closedAt: time(session.closedAt),
})

type Payload = Omit<TurnResult, "status">

const payloadView = (draft: Draft, turn: Turn): Payload => {
  const error = turn.error === null ? {} : { error: turn.error }
  if (turn.payloadExpiredAt !== null) return { ...error, payloadExpiredAt: timestamp(turn.payloadExpiredAt) }
  const payload = turn.status === "completed" ? draft.state.payload(turn.id) : undefined
  if (payload === undefined) return error
  const response = payload.response === null ? {} : { response: [...payload.response] }
  return { result: payload.result, ...response }
}

const sourceView = ({ requesterId, originTurnId }: Turn): TurnView["source"] =>
  requesterId === null
    ? { kind: "client" }
    : {
        kind: "session",
        requesterSessionId: requesterId,
        ...(originTurnId === null ? {} : { originTurnId }),
      }

/** `waitingFor` is the reason why a queued Turn does not run. */
export const turnView = (draft: Draft, turn: Turn, waitingFor: string | null): TurnView => ({
  id: turn.id,
  sessionId: turn.sessionId,
  sequence: turn.sequence,
  status: turn.status,
  source: sourceView(turn),
  waitingFor,
  createdAt: timestamp(turn.createdAt),
  startedAt: time(turn.startedAt),
  settledAt: time(turn.settledAt),
  ...payloadView(draft, turn),
})

/** `undefined` while the Turn has not settled. */
export const resultView = (draft: Draft, turn: Turn): TurnResult | undefined => {
  const { status } = turn
  return status === "queued" || status === "running" ? undefined : { status, ...payloadView(draft, turn) }
}
