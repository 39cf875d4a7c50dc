/**
 * Session channel: Session process → supervisor, a WebSocket on loopback.
 *
 * The process opens `channelUrl` with `Authorization: Bearer <secret>` and sends `hello`; the supervisor answers
 * `welcome` (or `reject` and closes); then each side replays what the other lacks and numbered frames flow, with
 * the rules of `numbering.ts`. `requestId` pairs an up frame with the down frame that answers it; both are numbered,
 * so that a reconnect loses neither.
 */
import { z } from "zod"
import { Content, Timestamp, TurnOutcome, TurnSource } from "./content.ts"
import { decoder } from "./decode.ts"
import { Failure } from "./errors.ts"
import {
  ComputerId,
  DefinitionKey,
  DeploymentId,
  Generation,
  MessageId,
  QuestionId,
  RequestId,
  SessionId,
  TurnId,
} from "./ids.ts"

export const channelProtocol = 1

/**
 * What the supervisor writes to the standard input of a Session process, as one JSON line, before anything else.
 * It is not in the environment, so that programs which the agent starts do not inherit the secret.
 */
export const SessionBootstrap = z.strictObject({
  channelUrl: z.string(),
  secret: z.string(),
  sessionId: SessionId,
  generation: Generation,
  /** Absolute path of the unpacked bundle's entry file. */
  bundlePath: z.string(),
  agent: DefinitionKey,
})
export type SessionBootstrap = Readonly<z.infer<typeof SessionBootstrap>>

export const RecoveryContext = z.strictObject({
  kind: z.enum(["initial", "reconstructed"]),
  reason: z.string().optional(),
})

/** Everything `init` and `turn` see of their surroundings. */
export const SessionContextData = z.strictObject({
  session: z.strictObject({
    id: SessionId,
    key: z.string().optional(),
    parent: SessionId.optional(),
  }),
  computer: z.strictObject({ id: ComputerId }),
  deployment: z.strictObject({ id: DeploymentId }),
  recovery: RecoveryContext,
})
export type SessionContextData = Readonly<z.infer<typeof SessionContextData>>

export const TurnData = z.strictObject({
  id: TurnId,
  sequence: z.int().min(1),
  createdAt: Timestamp,
  input: Content,
  source: TurnSource,
})
export type TurnData = Readonly<z.infer<typeof TurnData>>

export const McpConnection = z.strictObject({
  url: z.string(),
  headers: z.strictObject({ Authorization: z.string() }),
})
export type McpConnection = Readonly<z.infer<typeof McpConnection>>

/** Process → supervisor. */
export const ChannelUp = z.discriminatedUnion("type", [
  /** The program is loaded and `init` has returned; Turns may be dispatched. */
  z.strictObject({ type: z.literal("ready") }),
  /** The bundle, its Agent or `init` failed; the process exits after this. */
  z.strictObject({ type: z.literal("failed"), phase: z.enum(["load", "init"]), error: Failure }),
  z.strictObject({ type: z.literal("turn_started"), turnId: TurnId }),
  z.strictObject({ type: z.literal("turn_output"), turnId: TurnId, text: z.string() }),
  /** The handler has returned, thrown, or stopped after a cancel; nothing of the Turn runs any more. */
  z.strictObject({ type: z.literal("turn_settled"), turnId: TurnId, outcome: TurnOutcome }),
  /** Messages that nobody took: `onMessage` was never set. Sent at settlement. */
  z.strictObject({ type: z.literal("messages_dropped"), turnId: TurnId, messageIds: z.array(MessageId) }),
  /** `ctx.mcp.getConnectionOptions(policy?)`; `policy` is whatever the program passed. */
  z.strictObject({
    type: z.literal("mcp_connection"),
    requestId: RequestId,
    /** Absent: the maximum was asked for. Anything else is judged by the supervisor. */
    policy: z.unknown().optional(),
  }),
  z.strictObject({
    type: z.literal("ask"),
    requestId: RequestId,
    turnId: TurnId,
    question: Content,
  }),
])
export type ChannelUp = z.infer<typeof ChannelUp>

/** Supervisor → process. */
export const ChannelDown = z.discriminatedUnion("type", [
  /** First frame of a process: run `init` now. */
  z.strictObject({ type: z.literal("initialize"), context: SessionContextData }),
  z.strictObject({ type: z.literal("turn"), turn: TurnData }),
  /** Abort `turn.signal`; the handler's end settles the Turn with this status. */
  z.strictObject({
    type: z.literal("cancel_turn"),
    turnId: TurnId,
    status: z.enum(["interrupted", "cancelled"]),
  }),
  z.strictObject({ type: z.literal("message"), turnId: TurnId, messageId: MessageId, content: Content }),
  z.strictObject({
    type: z.literal("mcp_connection_result"),
    requestId: RequestId,
    result: z.union([
      z.strictObject({ ok: z.literal(true), value: McpConnection }),
      z.strictObject({ ok: z.literal(false), error: Failure }),
    ]),
  }),
  z.strictObject({
    type: z.literal("ask_result"),
    requestId: RequestId,
    result: z.union([
      z.strictObject({
        ok: z.literal(true),
        value: z.strictObject({ questionId: QuestionId, answer: Content }),
      }),
      z.strictObject({ ok: z.literal(false), error: Failure }),
    ]),
  }),
  /** Abort every signal, give handlers `graceMs`, then exit 0. */
  z.strictObject({ type: z.literal("shutdown"), graceMs: z.int().min(0) }),
])
export type ChannelDown = z.infer<typeof ChannelDown>

const control = [
  z.strictObject({ kind: z.literal("ack"), ack: z.int().min(0) }),
  /** Answer to a frame that could not be accepted; the sender logs it. `seq` names the frame where it was readable. */
  z.strictObject({ kind: z.literal("invalid"), seq: z.int().optional(), message: z.string() }),
  z.strictObject({ kind: z.literal("ping") }),
  z.strictObject({ kind: z.literal("pong") }),
] as const

export const ChannelUpFrame = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("hello"),
    protocol: z.int(),
    sessionId: SessionId,
    generation: Generation,
    /** Last down frame that was applied; 0 at first. */
    received: z.int().min(0),
  }),
  z.strictObject({ kind: z.literal("frame"), seq: z.int().min(1), ack: z.int().min(0), body: ChannelUp }),
  ...control,
])
export type ChannelUpFrame = z.infer<typeof ChannelUpFrame>

export const ChannelDownFrame = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("welcome"),
    protocol: z.int(),
    /** Last up frame that was applied; 0 at first. */
    received: z.int().min(0),
  }),
  /** The connection is refused for good; the process ends itself. */
  z.strictObject({ kind: z.literal("reject"), error: Failure }),
  z.strictObject({ kind: z.literal("frame"), seq: z.int().min(1), ack: z.int().min(0), body: ChannelDown }),
  ...control,
])
export type ChannelDownFrame = z.infer<typeof ChannelDownFrame>

export const decodeChannelUp = decoder(ChannelUpFrame)
export const decodeChannelDown = decoder(ChannelDownFrame)
