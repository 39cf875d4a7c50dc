/** Turns: one piece of work of a Session, and how it ended. */
import { z } from "zod"
import { Content, JsonValue, Timestamp, TurnError, TurnSource, TurnStatus } from "../content.ts"
import { SessionId, TurnId } from "../ids.ts"
import { nextCursor, noQuery, pageQuery } from "./fields.ts"
import { apiWaitMaxMs } from "./limits.ts"
import { route } from "./route.ts"

/** Fields of an ended Turn; `payloadExpiredAt` stands where the others were dropped after their time. */
const payload = {
  result: JsonValue.optional(),
  response: Content.optional(),
  error: TurnError.optional(),
  payloadExpiredAt: Timestamp.optional(),
}

export const Turn = z.object({
  id: TurnId,
  sessionId: SessionId,
  /** From 1, in the order in which the Session runs them. */
  sequence: z.int().min(1),
  status: TurnStatus,
  source: TurnSource,
  /** Why a queued Turn does not run yet, for people. */
  waitingFor: z.string().nullable(),
  createdAt: Timestamp,
  startedAt: Timestamp.nullable(),
  settledAt: Timestamp.nullable(),
  ...payload,
})
export type Turn = Readonly<z.infer<typeof Turn>>

export const TurnPage = z.object({ turns: z.array(Turn), nextCursor })
export type TurnPage = Readonly<z.infer<typeof TurnPage>>

export const SettledStatus = z.enum(["completed", "failed", "interrupted", "cancelled"])

export const TurnResult = z.object({ status: SettledStatus, ...payload })
export type TurnResult = Readonly<z.infer<typeof TurnResult>>

export const WaitedTurn = z.discriminatedUnion("status", [
  z.object({ status: z.literal("timeout") }),
  z.object({ status: z.literal("settled"), outcome: TurnResult }),
])
export type WaitedTurn = Readonly<z.infer<typeof WaitedTurn>>

const ofSession = z.strictObject({ sessionId: SessionId })
export const oneTurn = z.strictObject({ sessionId: SessionId, turnId: TurnId })

export const turnRoutes = {
  list: route({
    name: "listTurns",
    method: "GET",
    path: "/v1/sessions/:sessionId/turns",
    permission: "sessions:read",
    description: "Lists the Turns of a Session, newest first.",
    params: ofSession,
    query: z.strictObject(pageQuery),
    body: { kind: "none" },
    answer: { kind: "json", status: 200, schema: TurnPage },
  }),
  get: route({
    name: "getTurn",
    method: "GET",
    path: "/v1/sessions/:sessionId/turns/:turnId",
    permission: "sessions:read",
    description: "Reads one Turn.",
    params: oneTurn,
    query: noQuery,
    body: { kind: "none" },
    answer: { kind: "json", status: 200, schema: Turn },
  }),
  wait: route({
    name: "waitTurn",
    method: "GET",
    path: "/v1/sessions/:sessionId/turns/:turnId/wait",
    permission: "sessions:read",
    description: "Waits a bounded time for a Turn to settle. May be repeated; a timeout cancels nothing.",
    params: oneTurn,
    query: z.strictObject({ timeoutMs: z.coerce.number().int().min(1).max(apiWaitMaxMs) }),
    body: { kind: "none" },
    answer: { kind: "json", status: 200, schema: WaitedTurn },
  }),
}
