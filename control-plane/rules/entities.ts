/** What the control plane remembers, as rules see it. Times are milliseconds since 1970; `null` is "not so". */
import type {
  ComputerStatus,
  Content,
  HoldKind,
  Json,
  Residency,
  SessionStatus,
  TurnError,
  TurnStatus,
} from "@computerd/protocol/content"
import type {
  ComputerId,
  DefinitionKey,
  DeploymentId,
  EnvironmentKey,
  HoldId,
  MessageId,
  QuestionId,
  RequestId,
  SessionId,
  StoreId,
  TurnId,
} from "@computerd/protocol/ids"
import type { DeploymentManifest } from "@computerd/protocol/manifest"

export interface Deployment {
  readonly id: DeploymentId
  readonly environment: EnvironmentKey
  readonly manifest: DeploymentManifest
  readonly createdAt: number
}

export type DesiredState = "idle" | "running" | "parked" | "deleted"

export interface Computer {
  readonly id: ComputerId
  readonly environment: EnvironmentKey
  readonly deploymentId: DeploymentId
  readonly template: DefinitionKey
  readonly key: string | null
  readonly status: ComputerStatus
  readonly residency: Residency
  readonly desired: DesiredState
  readonly error: string | null
  readonly deleteAfterUnusedMs: number | null
  readonly unusedSince: number | null
  /** Waits for room since; set only where the Environment has a limit. */
  readonly wantedSince: number | null
  /** Has room and nothing to do since; set only where the Environment has a limit. */
  readonly parkableSince: number | null
  readonly epoch: number
  readonly leaseUntil: number | null
  readonly storeId: StoreId | null
  readonly bootId: string | null
  /** A supervisor has attached since this control plane started, and has not left. */
  readonly attached: boolean
  readonly commandSeq: number
  readonly commandAck: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** How a Session ends: `close` drains what can run, `cancel` stops everything. */
export type Closing = "none" | "close" | "cancel"

export interface Session {
  readonly id: SessionId
  readonly environment: EnvironmentKey
  readonly key: string | null
  readonly deploymentId: DeploymentId
  readonly agent: DefinitionKey
  readonly template: DefinitionKey
  readonly computerId: ComputerId
  readonly role: "root" | "child"
  readonly rootId: SessionId
  readonly parentId: SessionId | null
  readonly requesterId: SessionId | null
  readonly depth: number
  readonly status: SessionStatus
  readonly closing: Closing
  readonly closeAfterIdleMs: number | null
  readonly idleSince: number | null
  /** When it closes for idleness, if nothing happens; `null` while children or holds forbid it. */
  readonly idleDue: number | null
  readonly initialTurnId: TurnId | null
  readonly lastSequence: number
  readonly generation: number
  readonly process: "none" | "starting" | "ready"
  /** Processes lost in a row without a settled Turn between them. */
  readonly losses: number
  readonly lossReason: string | null
  readonly createdAt: number
  readonly closedAt: number | null
}

export type StopStatus = "interrupted" | "cancelled"

export interface Turn {
  readonly id: TurnId
  readonly sessionId: SessionId
  readonly sequence: number
  readonly status: TurnStatus
  /** Sent to the Computer; it is still `queued` until its process says that it started. */
  readonly dispatched: boolean
  readonly stop: StopStatus | null
  readonly requesterId: SessionId | null
  readonly originTurnId: TurnId | null
  readonly createdAt: number
  readonly startedAt: number | null
  readonly settledAt: number | null
  readonly error: TurnError | null
  readonly payloadExpiredAt: number | null
}

/** The parts of a Turn that may be large; read only where they are shown or sent. */
export interface TurnPayload {
  readonly result: Json
  readonly response: Content | null
}

export interface RecoveryGap {
  readonly reason: string
  readonly turnId: TurnId | null
  readonly generation: number
}

export interface Hold {
  readonly id: HoldId
  readonly sessionId: SessionId
  readonly kind: HoldKind
  /** The Session whose call placed it; `null`: an operator or the system. */
  readonly placedBy: SessionId | null
  readonly gap: RecoveryGap | null
  readonly createdAt: number
  readonly releasedAt: number | null
}

export interface Message {
  readonly id: MessageId
  readonly sessionId: SessionId
  readonly turnId: TurnId
  readonly content: Content
  /** Number of the command that carries it; 0 when no supervisor was attached. */
  readonly commandSeq: number
  readonly createdAt: number
}

export interface Question {
  readonly id: QuestionId
  readonly sessionId: SessionId
  readonly turnId: TurnId
  readonly requestId: RequestId
  readonly status: "open" | "answered" | "cancelled"
  readonly createdAt: number
}

/** What was answered from outside. */
export interface QuestionAnswer {
  readonly question: Question
  readonly content: Content
  /** Number of the command that carries it. */
  readonly commandSeq: number
}

export interface Receipt {
  /** A Session id, or `environment:<key>` for a start from outside. */
  readonly caller: string
  readonly key: string
  readonly tool: string
  readonly fingerprint: string
  readonly answer: { readonly [field: string]: Json }
  readonly createdAt: number
  /** `null`: for as long as its caller Session lives, and a while more. */
  readonly expiresAt: number | null
}

export const isSettled = (turn: Turn): boolean => turn.status !== "queued" && turn.status !== "running"
export const isActive = (turn: Turn): boolean =>
  turn.status === "running" || (turn.status === "queued" && turn.dispatched)
