/** What onlookers hear of a decision's changes. Rows that look the same as before tell nothing. */
import type { Changes, Notice, Written } from "../rules/changes.ts"
import type { Computer, Hold, Question, Session, Turn } from "../rules/entities.ts"
import type { FleetEvent } from "./fleet.ts"

const computerEvent = ({ before, row }: Written<Computer>, atMs: number): FleetEvent[] => {
  const same =
    before !== undefined &&
    before.status === row.status &&
    before.residency === row.residency &&
    before.desired === row.desired &&
    before.error === row.error
  if (same) return []
  const { id: computerId, status, residency, desired, error } = row
  return [
    {
      type: "computer_changed",
      atMs,
      computerId,
      added: before === undefined,
      status,
      residency,
      desired,
      error,
    },
  ]
}

const sessionEvent = ({ before, row }: Written<Session>, atMs: number): FleetEvent[] => {
  const same =
    before !== undefined &&
    before.status === row.status &&
    before.process === row.process &&
    before.generation === row.generation
  if (same) return []
  const { id: sessionId, agent, computerId, parentId: parent, status, process, generation } = row
  return [
    {
      type: "session_changed",
      atMs,
      sessionId,
      added: before === undefined,
      agent,
      computerId,
      parent,
      status,
      process,
      generation,
    },
  ]
}

const turnEvent = ({ before, row }: Written<Turn>, atMs: number): FleetEvent[] => {
  if (before?.status === row.status) return []
  const { id: turnId, sessionId, sequence, status, error } = row
  return [
    { type: "turn_changed", atMs, sessionId, turnId, added: before === undefined, sequence, status, error },
  ]
}

const holdEvent = ({ row }: Written<Hold>, atMs: number): FleetEvent => ({
  type: "hold_changed",
  atMs,
  sessionId: row.sessionId,
  holdId: row.id,
  kind: row.kind,
  released: row.releasedAt !== null,
  reason: row.gap?.reason ?? null,
})

const questionEvent = ({ row }: Written<Question>, atMs: number): FleetEvent => ({
  type: "question_changed",
  atMs,
  sessionId: row.sessionId,
  turnId: row.turnId,
  questionId: row.id,
  status: row.status,
})

const noticeEvent = (notice: Notice, atMs: number): FleetEvent => {
  const { id: turnId, sessionId } = notice.turn
  return notice.type === "turn_output"
    ? { type: "turn_output", atMs, sessionId, turnId, text: notice.text }
    : { type: "messages_dropped", atMs, sessionId, turnId, count: notice.messages.length }
}

export const fleetEvents = (changes: Changes, atMs: number): readonly FleetEvent[] => [
  ...changes.deployments.map(
    (deployment): FleetEvent => ({
      type: "deployment_added",
      atMs,
      deploymentId: deployment.id,
      environment: deployment.environment,
    }),
  ),
  ...changes.computers.flatMap((written) => computerEvent(written, atMs)),
  ...changes.sessions.flatMap((written) => sessionEvent(written, atMs)),
  ...changes.turns.flatMap((written) => turnEvent(written, atMs)),
  ...changes.holds.map((written) => holdEvent(written, atMs)),
  ...changes.questions.map((written) => questionEvent(written, atMs)),
  ...changes.notices.map((notice) => noticeEvent(notice, atMs)),
]
