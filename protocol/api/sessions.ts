/** Sessions: an Agent at work. Each keeps the Deployment that it was started with. */
import { z } from "zod"
import { Content, HoldKind, SessionStatus, Timestamp, TurnStatus } from "../content.ts"
import {
  ComputerId,
  ControlId,
  DefinitionKey,
  DeploymentId,
  HoldId,
  MessageId,
  SessionId,
  TurnId,
} from "../ids.ts"
import { IdempotencyKey, nextCursor, noParams, noQuery, pageQuery, SessionKey } from "./fields.ts"
import { route } from "./route.ts"
import { oneTurn } from "./turns.ts"

export const SessionHold = z.object({
  id: HoldId,
  /** The Session that was named: where the hold is released. */
  sessionId: SessionId,
  kind: HoldKind,
  createdAt: Timestamp,
  /** Of `recovery` holds: what a lost process left behind. */
  recoveryGap: z
    .object({ reason: z.string(), turnId: TurnId.nullable(), generation: z.int().min(0) })
    .optional(),
  /** Whether a client may release it. */
  canRelease: z.boolean(),
})
export type SessionHold = Readonly<z.infer<typeof SessionHold>>

export const Session = z.object({
  id: SessionId,
  key: z.string().nullable(),
  agent: DefinitionKey,
  /** The Agent's own; its Computer may have been made from another one. */
  template: DefinitionKey,
  deploymentId: DeploymentId,
  computerId: ComputerId,
  rootSessionId: SessionId,
  parentSessionId: SessionId.nullable(),
  requesterSessionId: SessionId.nullable(),
  initialTurn: z.object({ id: TurnId, status: TurnStatus }).nullable(),
  status: SessionStatus,
  process: z.enum(["none", "starting", "ready"]),
  /** Of its process; 0 before the first one. */
  generation: z.int().min(0),
  closeAfterIdleMs: z.int().min(0).nullable(),
  idleSince: Timestamp.nullable(),
  /** Own ones, then inherited interrupts. */
  holds: z.array(SessionHold),
  createdAt: Timestamp,
  closedAt: Timestamp.nullable(),
})
export type Session = Readonly<z.infer<typeof Session>>

export const SessionPage = z.object({ sessions: z.array(Session), nextCursor })
export type SessionPage = Readonly<z.infer<typeof SessionPage>>

export const SessionFilters = z.strictObject({
  ...pageQuery,
  status: SessionStatus.optional(),
  agent: DefinitionKey.optional(),
  key: SessionKey.optional(),
  computerId: ComputerId.optional(),
  parentSessionId: SessionId.optional(),
  rootSessionId: SessionId.optional(),
})

export const StartSessionRequest = z.strictObject({
  agent: z.string().min(1).max(128).describe("An Agent of the current Deployment."),
  input: Content,
  idempotencyKey: IdempotencyKey,
  sessionKey: SessionKey.optional(),
  computerId: ComputerId.optional().describe("Absent: a new Computer from the Agent's Template."),
})
export type StartSessionRequest = Readonly<z.infer<typeof StartSessionRequest>>

export const EnqueueRequest = z.strictObject({ input: Content, idempotencyKey: IdempotencyKey })
export type EnqueueRequest = Readonly<z.infer<typeof EnqueueRequest>>
export const SendRequest = z.strictObject({ message: Content, idempotencyKey: IdempotencyKey })
export type SendRequest = Readonly<z.infer<typeof SendRequest>>
export const InterruptRequest = z.strictObject({
  turnId: TurnId.optional().describe("Ends this running Turn alone; absent: holds the Session's tree."),
  idempotencyKey: IdempotencyKey,
})
export type InterruptRequest = Readonly<z.infer<typeof InterruptRequest>>
export const ResumeRequest = z.strictObject({ holdId: HoldId, idempotencyKey: IdempotencyKey })
export type ResumeRequest = Readonly<z.infer<typeof ResumeRequest>>
export const EndRequest = z.strictObject({ idempotencyKey: IdempotencyKey })
export type EndRequest = Readonly<z.infer<typeof EndRequest>>

export const AdmittedTurn = z.object({ sessionId: SessionId, turnId: TurnId, sequence: z.int().min(1) })
export type AdmittedTurn = Readonly<z.infer<typeof AdmittedTurn>>

export const AcceptedMessage = z.object({ id: MessageId, turnId: TurnId })
export type AcceptedMessage = Readonly<z.infer<typeof AcceptedMessage>>

/** Says that the control was accepted, not that anything has stopped. */
export const AcceptedControl = z.object({
  id: ControlId,
  sessionId: SessionId,
  status: z.literal("accepted"),
  /** What an interrupt placed or a resume released. */
  holdId: HoldId.optional(),
  /** The Turn that was asked to stop. */
  turnId: TurnId.optional(),
})
export type AcceptedControl = Readonly<z.infer<typeof AcceptedControl>>

export const EndingSession = z.object({ sessionId: SessionId, status: z.enum(["closing", "closed"]) })
export type EndingSession = Readonly<z.infer<typeof EndingSession>>

const one = z.strictObject({ sessionId: SessionId })

export const sessionRoutes = {
  start: route({
    name: "startSession",
    method: "POST",
    path: "/v1/sessions",
    permission: "sessions:write",
    description: "Starts a Session of an Agent of the current Deployment, with its first Turn.",
    params: noParams,
    query: noQuery,
    body: { kind: "json", schema: StartSessionRequest, content: "input" },
    answer: { kind: "json", status: 201, schema: AdmittedTurn },
  }),
  list: route({
    name: "listSessions",
    method: "GET",
    path: "/v1/sessions",
    permission: "sessions:read",
    description: "Lists Sessions, newest first.",
    params: noParams,
    query: SessionFilters,
    body: { kind: "none" },
    answer: { kind: "json", status: 200, schema: SessionPage },
  }),
  get: route({
    name: "getSession",
    method: "GET",
    path: "/v1/sessions/:sessionId",
    permission: "sessions:read",
    description: "Reads one Session with its own pin.",
    params: one,
    query: noQuery,
    body: { kind: "none" },
    answer: { kind: "json", status: 200, schema: Session },
  }),
  enqueue: route({
    name: "enqueueTurn",
    method: "POST",
    path: "/v1/sessions/:sessionId/enqueue",
    permission: "sessions:write",
    description: "Gives the Session another Turn, which runs after those before it.",
    params: one,
    query: noQuery,
    body: { kind: "json", schema: EnqueueRequest, content: "input" },
    answer: { kind: "json", status: 201, schema: AdmittedTurn },
  }),
  send: route({
    name: "sendTurn",
    method: "POST",
    path: "/v1/sessions/:sessionId/turns/:turnId/send",
    permission: "sessions:write",
    description:
      "Sends a message to a running Turn. One that takes no more refuses it, and nothing is created.",
    params: oneTurn,
    query: noQuery,
    body: { kind: "json", schema: SendRequest, content: "message" },
    answer: { kind: "json", status: 201, schema: AcceptedMessage },
  }),
  interrupt: route({
    name: "interruptSession",
    method: "POST",
    path: "/v1/sessions/:sessionId/interrupt",
    permission: "sessions:write",
    description: "Stops what runs in the Session's tree and holds it, or ends one running Turn.",
    params: one,
    query: noQuery,
    body: { kind: "json", schema: InterruptRequest },
    answer: { kind: "json", status: 200, schema: AcceptedControl },
  }),
  resume: route({
    name: "resumeSession",
    method: "POST",
    path: "/v1/sessions/:sessionId/resume",
    permission: "sessions:write",
    description: "Releases exactly one hold of the Session.",
    params: one,
    query: noQuery,
    body: { kind: "json", schema: ResumeRequest },
    answer: { kind: "json", status: 200, schema: AcceptedControl },
  }),
  close: route({
    name: "closeSession",
    method: "POST",
    path: "/v1/sessions/:sessionId/close",
    permission: "sessions:write",
    description: "Ends the Session's tree in order: what can run is finished, nothing new is taken.",
    params: one,
    query: noQuery,
    body: { kind: "json", schema: EndRequest },
    answer: { kind: "json", status: 200, schema: EndingSession },
  }),
  cancel: route({
    name: "cancelSession",
    method: "POST",
    path: "/v1/sessions/:sessionId/cancel",
    permission: "sessions:write",
    description: "Ends the Session's tree at once: queued Turns are cancelled and running ones stopped.",
    params: one,
    query: noQuery,
    body: { kind: "json", schema: EndRequest },
    answer: { kind: "json", status: 200, schema: EndingSession },
  }),
}
