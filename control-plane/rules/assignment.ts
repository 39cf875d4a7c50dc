/** A Session as its Computer must run it (F2 of the link). */
import type { RecoveryContext, TurnData } from "@computerd/protocol/channel"
import { timestamp } from "@computerd/protocol/content"
import type { SessionAssignment } from "@computerd/protocol/link"
import type { Draft } from "./draft.ts"
import type { Session, Turn } from "./entities.ts"
import { effectiveHolds } from "./holds.ts"

/** Of the process that is to start next. */
const recovery = (session: Session): typeof RecoveryContext._output => {
  if (session.generation === 0) return { kind: "initial" }
  const reason = session.lossReason
  return reason === null ? { kind: "reconstructed" } : { kind: "reconstructed", reason }
}

/** `undefined` when the pinned Deployment or its Agent is gone, which nothing does. */
export const assignmentOf = (draft: Draft, session: Session): SessionAssignment | undefined => {
  const manifest = draft.state.deployment(session.deploymentId)?.manifest
  const agent = manifest?.agents.find((one) => one.id === session.agent)
  if (manifest === undefined || agent === undefined || session.status === "closed") return undefined
  return {
    sessionId: session.id,
    agent: session.agent,
    deploymentId: session.deploymentId,
    bundle: manifest.bundle,
    maximum: agent.runtimeMcp,
    manifestAgents: manifest.agents.map((one) => one.id),
    role: session.role,
    ...(session.key === null ? {} : { key: session.key }),
    ...(session.parentId === null ? {} : { parent: session.parentId }),
    generation: session.generation,
    recovery: recovery(session),
    holds: effectiveHolds(draft, session).map((hold) => ({
      id: hold.id,
      sessionId: hold.sessionId,
      kind: hold.kind,
      createdAt: timestamp(hold.createdAt),
    })),
    status: session.status,
  }
}

export const turnData = (draft: Draft, turn: Turn): TurnData => ({
  id: turn.id,
  sequence: turn.sequence,
  createdAt: timestamp(turn.createdAt),
  input: [...draft.input(turn.id)],
  source:
    turn.requesterId === null
      ? { kind: "client" }
      : {
          kind: "session",
          requesterSessionId: turn.requesterId,
          ...(turn.originTurnId === null ? {} : { originTurnId: turn.originTurnId }),
        },
})
