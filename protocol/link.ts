/**
 * Control-plane link: supervisor → control plane, a WebSocket at `/computers/v1/link`, opened with
 * `Authorization: Bearer <Computer credential>`. Bundles come from `GET /computers/v1/bundles/<digest>` with the
 * same credential.
 *
 * The supervisor sends `attach`; the control plane answers `attached` (or `refuse` and closes). Then numbered
 * frames flow both ways, with the rules of `numbering.ts`; they are durable on both sides until acknowledged.
 * Requests (`admit`, `receipt`, `renew`) are not numbered: they belong to one connection, and what an interrupted one
 * did is learned from the receipt.
 *
 * F1 every up frame bears the epoch of the lease; an older one is answered by `refuse` with `superseded`
 * F2 `attached` says everything that must be so: it replaces what the supervisor believed
 */
import { z } from "zod"
import { RecoveryContext, TurnData } from "./channel.ts"
import { Content, HoldKind, JsonValue, Timestamp, TurnOutcome } from "./content.ts"
import { decoder } from "./decode.ts"
import { Failure } from "./errors.ts"
import {
  ComputerId,
  DefinitionKey,
  DeploymentId,
  Digest,
  Epoch,
  Generation,
  HoldId,
  MessageId,
  QuestionId,
  RequestId,
  SessionId,
  StoreId,
  TurnId,
} from "./ids.ts"
import { linkDownFrameMaxBytes } from "./limits.ts"
import { Scope } from "./scope.ts"

export const linkProtocol = 1
/** Close code of a connection whose Computer was parked: its supervisor attaches anew when it wakes. */
export const linkParkedCode = 4004
export const linkPath = "/computers/v1/link"
export const bundlePath = (digest: string): string => `/computers/v1/bundles/${digest}`

const ReadonlyScope: z.ZodType<Scope> = Scope

/** Why a Session process is gone. Unknown stays `unknown`: it is never invented. */
export const ExitReason = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("code"), code: z.int() }),
  z.strictObject({ kind: z.literal("signal"), signal: z.string() }),
  z.strictObject({ kind: z.literal("out_of_memory") }),
  z.strictObject({ kind: z.literal("start_timeout"), afterMs: z.int() }),
  z.strictObject({ kind: z.literal("spawn_failed"), message: z.string() }),
  z.strictObject({ kind: z.literal("load_failed"), message: z.string() }),
  z.strictObject({ kind: z.literal("init_failed"), message: z.string() }),
  z.strictObject({ kind: z.literal("stop_timeout"), afterMs: z.int() }),
  z.strictObject({ kind: z.literal("shutdown") }),
  /** It outlived its supervisor, and the next one could not take it over. */
  z.strictObject({ kind: z.literal("not_reattached"), message: z.string() }),
  z.strictObject({ kind: z.literal("unknown"), message: z.string() }),
])
export type ExitReason = Readonly<z.infer<typeof ExitReason>>

export const Hold = z.strictObject({
  id: HoldId,
  /** The Session that was named; a descendant inherits it when the kind is `interrupt`. */
  sessionId: SessionId,
  kind: HoldKind,
  createdAt: Timestamp,
})
export type Hold = Readonly<z.infer<typeof Hold>>

/** One Session as its Computer must run it. */
export const SessionAssignment = z.strictObject({
  sessionId: SessionId,
  agent: DefinitionKey,
  deploymentId: DeploymentId,
  bundle: Digest,
  /** The Agent's published maximum. */
  maximum: ReadonlyScope,
  /** Every Agent key of the pinned manifest: what a getter policy may name. */
  manifestAgents: z.array(DefinitionKey),
  /** What this Session is: children neither create nor ask. */
  role: z.enum(["root", "child"]),
  key: z.string().optional(),
  parent: SessionId.optional(),
  /** The highest generation that the control plane has seen; 0 before the first process. */
  generation: z.int().min(0),
  recovery: RecoveryContext,
  /** Effective holds, own and inherited; a held Session gets no process, no Turn and no MCP service. */
  holds: z.array(Hold),
  status: z.enum(["open", "closing"]),
})
export type SessionAssignment = Readonly<z.infer<typeof SessionAssignment>>

export const MessageData = z.strictObject({ messageId: MessageId, content: Content })

/** Control plane → supervisor, durable. Each is idempotent. */
export const LinkCommand = z.discriminatedUnion("type", [
  /** Run this Session, or take over its changed holds, status or recovery. */
  z.strictObject({ type: z.literal("assign"), assignment: SessionAssignment }),
  z.strictObject({ type: z.literal("dispatch"), sessionId: SessionId, turn: TurnData }),
  /** Ask the running Turn to stop; after `graceMs` the process tree is killed and the exit is `stop_timeout`. */
  z.strictObject({
    type: z.literal("cancel_turn"),
    sessionId: SessionId,
    turnId: TurnId,
    status: z.enum(["interrupted", "cancelled"]),
    graceMs: z.int().min(0),
  }),
  z.strictObject({
    type: z.literal("message"),
    sessionId: SessionId,
    turnId: TurnId,
    message: MessageData,
  }),
  z.strictObject({
    type: z.literal("answer"),
    sessionId: SessionId,
    turnId: TurnId,
    requestId: RequestId,
    result: z.union([
      z.strictObject({
        ok: z.literal(true),
        value: z.strictObject({ questionId: QuestionId, answer: Content }),
      }),
      z.strictObject({ ok: z.literal(false), error: Failure }),
    ]),
  }),
  /** The Session is closed: end its process, answer `released`, forget it. */
  z.strictObject({ type: z.literal("release"), sessionId: SessionId, graceMs: z.int().min(0) }),
])
export type LinkCommand = z.infer<typeof LinkCommand>

/** Supervisor → control plane, durable. `atMs` is the supervisor's wall clock. */
export const LinkEvent = z.discriminatedUnion("type", [
  /** A generation is durable and its process is about to start. */
  z.strictObject({ type: z.literal("process_starting"), sessionId: SessionId, generation: Generation }),
  z.strictObject({ type: z.literal("process_ready"), sessionId: SessionId, generation: Generation }),
  z.strictObject({
    type: z.literal("process_exited"),
    sessionId: SessionId,
    generation: Generation,
    reason: ExitReason,
    /** The Turn that was running, if one was: it settles `interrupted` with `process_lost` (or `stop_timeout`). */
    turnId: TurnId.optional(),
    /** The process was asked to end; nothing was lost. */
    expected: z.boolean(),
    /**
     * What the supervisor does about a loss: starts the next generation by itself, does so after the release of the
     * holds that are effective, or leaves it to a recovery hold. Absent: it does nothing by itself.
     */
    next: z.enum(["restart", "after_release", "hold"]).optional(),
  }),
  z.strictObject({
    type: z.literal("turn_started"),
    sessionId: SessionId,
    generation: Generation,
    turnId: TurnId,
  }),
  z.strictObject({
    type: z.literal("turn_output"),
    sessionId: SessionId,
    generation: Generation,
    turnId: TurnId,
    text: z.string(),
  }),
  z.strictObject({
    type: z.literal("turn_settled"),
    sessionId: SessionId,
    generation: Generation,
    turnId: TurnId,
    outcome: TurnOutcome,
  }),
  z.strictObject({
    type: z.literal("messages_dropped"),
    sessionId: SessionId,
    turnId: TurnId,
    messageIds: z.array(MessageId),
  }),
  z.strictObject({
    type: z.literal("question"),
    sessionId: SessionId,
    generation: Generation,
    turnId: TurnId,
    requestId: RequestId,
    question: Content,
  }),
  z.strictObject({ type: z.literal("released"), sessionId: SessionId }),
])
export type LinkEvent = z.infer<typeof LinkEvent>

/** A Session process that lives when the supervisor attaches. */
export const LivingProcess = z.strictObject({
  sessionId: SessionId,
  generation: Generation,
  state: z.enum(["starting", "ready", "running", "stopping"]),
  turnId: TurnId.optional(),
})
export type LivingProcess = Readonly<z.infer<typeof LivingProcess>>

/** A tool call that MCP brought; the receiver decides it. */
export const AdmissionRequest = z.strictObject({
  sessionId: SessionId,
  generation: Generation,
  /** The scope of the descriptor that was presented. */
  scope: ReadonlyScope,
  tool: z.string(),
  arguments: z.record(z.string(), JsonValue),
})
export type AdmissionRequest = Readonly<z.infer<typeof AdmissionRequest>>

export const AdmissionAnswer = z.union([
  z.strictObject({ ok: z.literal(true), value: z.record(z.string(), JsonValue) }),
  z.strictObject({ ok: z.literal(false), error: Failure }),
])
export type AdmissionAnswer = Readonly<z.infer<typeof AdmissionAnswer>>

export const LinkUpFrame = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("attach"),
    protocol: z.int(),
    computerId: ComputerId,
    bootId: z.string(),
    storeId: StoreId,
    /** The epoch this store last held; 0 when it never had one. */
    lastEpoch: z.int().min(0),
    /** Last command that was applied; 0 at first. */
    received: z.int().min(0),
    version: z.string(),
    processes: z.array(LivingProcess),
  }),
  z.strictObject({
    kind: z.literal("frame"),
    epoch: Epoch,
    seq: z.int().min(1),
    ack: z.int().min(0),
    atMs: z.int(),
    body: LinkEvent,
  }),
  z.strictObject({ kind: z.literal("ack"), epoch: Epoch, ack: z.int().min(0) }),
  z.strictObject({ kind: z.literal("renew"), epoch: Epoch, requestId: RequestId }),
  z.strictObject({ kind: z.literal("admit"), epoch: Epoch, requestId: RequestId, request: AdmissionRequest }),
  /** Nobody waits for this request any more; a mutation goes on, a wait is dropped. */
  z.strictObject({ kind: z.literal("abandon"), epoch: Epoch, requestId: RequestId }),
  /** Asks what became of a mutation whose answer was lost. */
  z.strictObject({
    kind: z.literal("receipt"),
    epoch: Epoch,
    requestId: RequestId,
    sessionId: SessionId,
    idempotencyKey: z.string(),
  }),
  /** The supervisor stops on purpose: the lease may be granted again at once. */
  z.strictObject({ kind: z.literal("detach"), epoch: Epoch }),
  z.strictObject({ kind: z.literal("invalid"), seq: z.int().optional(), message: z.string() }),
])
export type LinkUpFrame = z.infer<typeof LinkUpFrame>

export const Lease = z.strictObject({
  epoch: Epoch,
  /** From receipt of the frame. */
  leaseMs: z.int().min(1),
  renewMs: z.int().min(1),
})
export type Lease = Readonly<z.infer<typeof Lease>>

export const LinkDownFrame = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("attached"),
    protocol: z.int(),
    lease: Lease,
    /** Last event that was applied; 0 for a store that is new to the control plane. */
    received: z.int().min(0),
    /** Commands are numbered onwards from here; earlier ones that were not applied are contained in `run`. */
    commandSeq: z.int().min(0),
    /** Every Session that is to live here (F2). A living process that is not listed is ended. */
    run: z.array(
      z.strictObject({
        assignment: SessionAssignment,
        /** The Turn that is dispatched and not settled, with its undelivered messages. */
        turn: TurnData.optional(),
        cancel: z.enum(["interrupted", "cancelled"]).optional(),
        messages: z.array(MessageData),
      }),
    ),
  }),
  /** The link is refused: `superseded`, `unauthorized` and `unsupported_protocol` are final. */
  z.strictObject({ kind: z.literal("refuse"), error: Failure }),
  z.strictObject({ kind: z.literal("frame"), seq: z.int().min(1), ack: z.int().min(0), body: LinkCommand }),
  z.strictObject({ kind: z.literal("ack"), ack: z.int().min(0) }),
  z.strictObject({ kind: z.literal("renewed"), requestId: RequestId, lease: Lease }),
  z.strictObject({ kind: z.literal("admitted"), requestId: RequestId, answer: AdmissionAnswer }),
  z.strictObject({
    kind: z.literal("receipt"),
    requestId: RequestId,
    /** Absent: no such admission exists, and none will come from that request. */
    answer: AdmissionAnswer.optional(),
  }),
  z.strictObject({ kind: z.literal("invalid"), seq: z.int().optional(), message: z.string() }),
])
export type LinkDownFrame = z.infer<typeof LinkDownFrame>

export const decodeLinkUp = decoder(LinkUpFrame)
export const decodeLinkDown = decoder(LinkDownFrame, linkDownFrameMaxBytes)
