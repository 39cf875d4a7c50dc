/**
 * What happened in a Session, durably and in order.
 *
 * V1 `sequence` grows along a Session and along its whole tree; a gap is no loss
 * V2 `cursor` names the place after its event, for every reader of the same tree and across restarts
 */
import { z } from "zod"
import { HoldKind, Timestamp, TurnSource } from "../content.ts"
import {
  ComputerId,
  DefinitionKey,
  DeploymentId,
  HoldId,
  MessageId,
  QuestionId,
  SessionId,
  TurnId,
} from "../ids.ts"
import { limit } from "./fields.ts"
import { route } from "./route.ts"
import { SettledStatus } from "./turns.ts"

/** What each type of event says beside its place. */
export const EventBody = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("session_created"),
    agent: DefinitionKey,
    deploymentId: DeploymentId,
    computerId: ComputerId,
    parentSessionId: SessionId.nullable(),
    requesterSessionId: SessionId.nullable(),
  }),
  z.object({ type: z.literal("session_closing"), mode: z.enum(["close", "cancel"]) }),
  /** The last one of its Session. */
  z.object({ type: z.literal("session_closed") }),
  z.object({ type: z.literal("process_starting"), generation: z.int() }),
  z.object({ type: z.literal("process_ready"), generation: z.int() }),
  z.object({ type: z.literal("process_exited"), generation: z.int(), reason: z.string().nullable() }),
  z.object({
    type: z.literal("turn_queued"),
    turnId: TurnId,
    turnSequence: z.int().min(1),
    source: TurnSource,
  }),
  z.object({ type: z.literal("turn_started"), turnId: TurnId }),
  z.object({
    type: z.literal("turn_settled"),
    turnId: TurnId,
    status: SettledStatus,
    errorCode: z.string().nullable(),
  }),
  z.object({ type: z.literal("turn_output"), turnId: TurnId, text: z.string() }),
  /** The Turn wrote more than is kept; the rest of its output is not. */
  z.object({ type: z.literal("turn_output_truncated"), turnId: TurnId, keptBytes: z.int() }),
  z.object({
    type: z.literal("hold_placed"),
    holdId: HoldId,
    kind: HoldKind,
    reason: z.string().nullable(),
  }),
  z.object({ type: z.literal("hold_released"), holdId: HoldId, kind: HoldKind }),
  z.object({ type: z.literal("message_accepted"), turnId: TurnId, messageId: MessageId }),
  /** The Turn settled without having taken them. */
  z.object({ type: z.literal("messages_dropped"), turnId: TurnId, messageIds: z.array(MessageId) }),
  z.object({ type: z.literal("question_asked"), turnId: TurnId, questionId: QuestionId }),
  z.object({ type: z.literal("question_answered"), turnId: TurnId, questionId: QuestionId }),
  z.object({ type: z.literal("question_cancelled"), turnId: TurnId, questionId: QuestionId }),
])
export type EventBody = Readonly<z.infer<typeof EventBody>>

export const EventPlace = z.object({
  /** The id of the event on a stream, and what `after` takes. */
  cursor: z.string(),
  sequence: z.int().min(1),
  sessionId: SessionId,
  at: Timestamp,
})

/** An event of a type that a reader does not know is to be passed over. */
export const SessionEvent = z.intersection(EventPlace, EventBody)
export type SessionEvent = Readonly<z.infer<typeof SessionEvent>>

export const EventPage = z.object({
  events: z.array(SessionEvent),
  /** Where the next page begins, also when this one is empty; absent before the first event. */
  nextCursor: z.string().optional(),
  /** Whether more was there already when the page was read. */
  more: z.boolean(),
})
export type EventPage = Readonly<z.infer<typeof EventPage>>

const after = z
  .string()
  .min(1)
  .max(512)
  .optional()
  .describe("The cursor of the last event that was seen; absent: from the beginning.")
const tree = z
  .enum(["true", "false"])
  .default("false")
  .describe("Also the events of the Session's descendants, those to come included.")

const one = z.strictObject({ sessionId: SessionId })

export const eventRoutes = {
  list: route({
    name: "listEvents",
    method: "GET",
    path: "/v1/sessions/:sessionId/events",
    permission: "sessions:read",
    description: "Reads a page of events, oldest first.",
    params: one,
    query: z.strictObject({ after, limit, tree }),
    body: { kind: "none" },
    answer: { kind: "json", status: 200, schema: EventPage },
  }),
  stream: route({
    name: "streamEvents",
    method: "GET",
    path: "/v1/sessions/:sessionId/events/stream",
    permission: "sessions:read",
    description:
      "Follows events as server-sent events, from `after` or the header `Last-Event-ID`. Ends after the Session's last event and when the key is revoked.",
    params: one,
    query: z.strictObject({ after, tree }),
    body: { kind: "none" },
    answer: { kind: "stream", schema: SessionEvent },
  }),
}
