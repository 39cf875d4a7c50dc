/** What tools return about Sessions, Turns and Computers. A field without `optional` is always there, `null` when unset. */
import {
  ComputerStatus,
  Content,
  HoldKind,
  JsonValue,
  Residency,
  SessionStatus,
  Timestamp,
  TurnError,
  TurnStatus,
} from "@computerd/protocol/content"
import {
  ComputerId,
  ControlId,
  DefinitionKey,
  DeploymentId,
  Generation,
  HoldId,
  SessionId,
  TurnId,
} from "@computerd/protocol/ids"
import { z } from "zod"

/** Receipt of `spawn`, `start` and `enqueue`. */
export const AdmittedTurn = z.strictObject({
  sessionId: SessionId,
  turnId: TurnId,
  sequence: z.int().min(1),
})

/** Receipt of `interrupt_session` and `resume_session`. */
export const AcceptedHoldControl = z.strictObject({
  id: ControlId,
  sessionId: SessionId,
  status: z.literal("accepted"),
  holdId: HoldId,
})

/** Receipt of `close_session` and `cancel_session`: the Session's status after the call. */
export const EndingSession = z.strictObject({
  sessionId: SessionId,
  status: z.enum(["closing", "closed"]),
})

/** What a lost process left behind. */
const RecoveryGap = z.strictObject({
  reason: z.string(),
  turn_id: TurnId.nullable(),
  generation: Generation,
})

export const HoldView = z.strictObject({
  id: HoldId,
  /** The Session that was named: where the hold can be released. */
  session_id: SessionId,
  kind: HoldKind,
  created_at: Timestamp,
  /** Of `recovery` holds only. */
  recovery_gap: RecoveryGap.optional(),
  /** Whether this caller may release it with `resume_session`. */
  can_release: z.boolean(),
})
export type HoldView = Readonly<z.infer<typeof HoldView>>

export const SessionView = z.strictObject({
  id: SessionId,
  agent: DefinitionKey,
  template: DefinitionKey,
  deployment_id: DeploymentId,
  computer_id: ComputerId,
  root_session_id: SessionId,
  parent_session_id: SessionId.nullable(),
  requester_session_id: SessionId.nullable(),
  initial_turn: z.strictObject({ id: TurnId, status: TurnStatus }).nullable(),
  key: z.string().optional(),
  slack_channel_id: z.string().optional(),
  status: SessionStatus,
  close_after_idle_ms: z.int().min(0).nullable(),
  idle_since: Timestamp.nullable(),
  holds: z.array(HoldView),
  created_at: Timestamp,
})
export type SessionView = Readonly<z.infer<typeof SessionView>>

export const ComputerView = z.strictObject({
  id: ComputerId,
  key: z.string().optional(),
  template: DefinitionKey,
  deployment_id: DeploymentId,
  status: ComputerStatus,
  residency: Residency,
  error: TurnError.optional(),
  delete_after_unused_ms: z.int().min(0).nullable(),
  unused_since: Timestamp.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type ComputerView = Readonly<z.infer<typeof ComputerView>>

const completed = z.literal("completed")
const stopped = z.enum(["failed", "interrupted", "cancelled"])

/** Payloads are dropped after a time; the stamp then stands in for them. */
const outcomeShapes = {
  completed: { status: completed, result: JsonValue, response: Content.optional() },
  expired: { status: completed, payloadExpiredAt: Timestamp },
  stopped: { status: stopped, error: TurnError, payloadExpiredAt: Timestamp.optional() },
}

/** How a Turn ended, with the fields of its status and no others. */
export const OutcomeView = z.union([
  z.strictObject(outcomeShapes.completed),
  z.strictObject(outcomeShapes.expired),
  z.strictObject(outcomeShapes.stopped),
])
export type OutcomeView = Readonly<z.infer<typeof OutcomeView>>

const turn = { id: TurnId, sessionId: SessionId }

export const TurnView = z.union([
  /** `waitBlocked`: waiting cannot succeed while the caller keeps its Computer. */
  z.strictObject({ ...turn, status: z.literal("queued"), waitBlocked: z.literal(true).optional() }),
  z.strictObject({ ...turn, status: z.literal("running") }),
  z.strictObject({ ...turn, ...outcomeShapes.completed }),
  z.strictObject({ ...turn, ...outcomeShapes.expired }),
  z.strictObject({ ...turn, ...outcomeShapes.stopped }),
])
export type TurnView = Readonly<z.infer<typeof TurnView>>
