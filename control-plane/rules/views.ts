/** Sessions, Turns and Computers as tools show them. Nothing of a Session's history is part of any view. */
import { type Json, type TurnError, timestamp } from "@computerd/protocol/content"
import type { Answer } from "./admission.ts"
import type { Draft } from "./draft.ts"
import type { Computer, Hold, Session, Turn } from "./entities.ts"
import { canRelease, effectiveHolds } from "./holds.ts"

const time = (at: number | null): string | null => (at === null ? null : timestamp(at))

const error = (one: TurnError): Json =>
  one.message === undefined ? { code: one.code } : { code: one.code, message: one.message }

const holdView = (draft: Draft, viewer: Session, hold: Hold): Json => ({
  id: hold.id,
  session_id: hold.sessionId,
  kind: hold.kind,
  created_at: timestamp(hold.createdAt),
  ...(hold.gap === null
    ? {}
    : {
        recovery_gap: {
          reason: hold.gap.reason,
          turn_id: hold.gap.turnId,
          generation: hold.gap.generation,
        },
      }),
  can_release: canRelease(draft, viewer, hold),
})

const initialTurn = (draft: Draft, session: Session): Json => {
  const turn = session.initialTurnId === null ? undefined : draft.turn(session.initialTurnId)
  return turn === undefined ? null : { id: turn.id, status: turn.status }
}

export const sessionView = (draft: Draft, viewer: Session, session: Session): Answer => ({
  id: session.id,
  agent: session.agent,
  template: session.template,
  deployment_id: session.deploymentId,
  computer_id: session.computerId,
  root_session_id: session.rootId,
  parent_session_id: session.parentId,
  requester_session_id: session.requesterId,
  initial_turn: initialTurn(draft, session),
  ...(session.key === null ? {} : { key: session.key }),
  status: session.status,
  close_after_idle_ms: session.closeAfterIdleMs,
  idle_since: time(session.idleSince),
  holds: effectiveHolds(draft, session).map((hold) => holdView(draft, viewer, hold)),
  created_at: timestamp(session.createdAt),
})

/** The status of a settled Turn with that status's fields and no others. */
export const outcomeView = (draft: Draft, turn: Turn): Answer => {
  const expired = turn.payloadExpiredAt === null ? {} : { payloadExpiredAt: timestamp(turn.payloadExpiredAt) }
  if (turn.status !== "completed")
    return {
      status: turn.status,
      ...(turn.error === null ? {} : { error: error(turn.error) }),
      ...expired,
    }
  const payload = turn.payloadExpiredAt === null ? draft.state.payload(turn.id) : undefined
  if (payload === undefined) return { status: turn.status, ...expired }
  const response =
    payload.response === null ? {} : { response: payload.response.map((part) => ({ ...part })) }
  return { status: turn.status, result: payload.result, ...response }
}

export const computerView = (computer: Computer): Answer => ({
  id: computer.id,
  ...(computer.key === null ? {} : { key: computer.key }),
  template: computer.template,
  deployment_id: computer.deploymentId,
  status: computer.status,
  residency: computer.residency,
  ...(computer.error === null ? {} : { error: { code: "computer_unavailable", message: computer.error } }),
  delete_after_unused_ms: computer.deleteAfterUnusedMs,
  unused_since: time(computer.unusedSince),
  created_at: timestamp(computer.createdAt),
  updated_at: timestamp(computer.updatedAt),
})
