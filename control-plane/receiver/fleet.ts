/**
 * What onlookers see: rows for drivers, views for status and the live tree, typed events. No input, output or
 * secret is part of any of them, except a settled Turn's own outcome in `TurnView`.
 */
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
  Digest,
  EnvironmentKey,
  HoldId,
  QuestionId,
  SessionId,
  TurnId,
} from "@computerd/protocol/ids"
import type { TemplateManifest } from "@computerd/protocol/manifest"

/** What the driver is to bring about. `idle`: needs nothing, may stay as it is. */
export type DesiredComputer = "idle" | "running" | "parked" | "deleted"

export interface ComputerRow {
  readonly id: ComputerId
  readonly environment: EnvironmentKey
  readonly deploymentId: DeploymentId
  readonly template: DefinitionKey
  /** The Template as its Deployment pinned it. */
  readonly manifest: TemplateManifest
  readonly bundle: Digest
  readonly status: ComputerStatus
  readonly residency: Residency
  readonly desired: DesiredComputer
  /** Why it is `unavailable`. */
  readonly error: string | null
  readonly attached: boolean
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

export interface HoldView {
  readonly id: HoldId
  readonly sessionId: SessionId
  readonly kind: HoldKind
  readonly createdAtMs: number
  readonly reason: string | null
}

/** A Session's process as the control plane last heard of it. */
export type ProcessView = "none" | "starting" | "ready"

export interface TurnView {
  readonly id: TurnId
  readonly sessionId: SessionId
  readonly sequence: number
  readonly status: TurnStatus
  /** Why a queued Turn does not run yet, for people. */
  readonly waitingFor: string | null
  readonly createdAtMs: number
  readonly startedAtMs: number | null
  readonly settledAtMs: number | null
  readonly result?: Json
  readonly response?: Content
  readonly error?: TurnError
}

export interface SessionView {
  readonly id: SessionId
  readonly environment: EnvironmentKey
  readonly agent: DefinitionKey
  readonly deploymentId: DeploymentId
  readonly computerId: ComputerId
  readonly role: "root" | "child"
  readonly key: string | null
  readonly parent: SessionId | null
  readonly requester: SessionId | null
  readonly status: SessionStatus
  readonly process: ProcessView
  readonly generation: number
  /** Own and inherited. */
  readonly holds: readonly HoldView[]
  readonly turns: readonly TurnView[]
  readonly createdAtMs: number
  /** `null` while it has something to do, a hold of its own, or an end. */
  readonly idleSinceMs: number | null
  readonly closedAtMs: number | null
}

export interface FleetSnapshot {
  readonly atMs: number
  readonly computers: readonly ComputerRow[]
  readonly sessions: readonly SessionView[]
}

/** What changed, after it is durable. `atMs` is the control plane's clock. */
export type FleetEvent = { readonly atMs: number } & (
  | {
      readonly type: "deployment_added"
      readonly deploymentId: DeploymentId
      readonly environment: EnvironmentKey
    }
  | {
      readonly type: "computer_changed"
      readonly computerId: ComputerId
      readonly added: boolean
      readonly status: ComputerStatus
      readonly residency: Residency
      readonly desired: DesiredComputer
      readonly error: string | null
    }
  | {
      readonly type: "session_changed"
      readonly sessionId: SessionId
      readonly added: boolean
      readonly agent: DefinitionKey
      readonly computerId: ComputerId
      readonly parent: SessionId | null
      readonly status: SessionStatus
      readonly process: ProcessView
      readonly generation: number
    }
  | {
      readonly type: "turn_changed"
      readonly sessionId: SessionId
      readonly turnId: TurnId
      readonly added: boolean
      readonly sequence: number
      readonly status: TurnStatus
      readonly error: TurnError | null
    }
  | {
      readonly type: "turn_output"
      readonly sessionId: SessionId
      readonly turnId: TurnId
      readonly text: string
    }
  | {
      readonly type: "hold_changed"
      readonly sessionId: SessionId
      readonly holdId: HoldId
      readonly kind: HoldKind
      readonly released: boolean
      readonly reason: string | null
    }
  | {
      readonly type: "messages_dropped"
      readonly sessionId: SessionId
      readonly turnId: TurnId
      readonly count: number
    }
  | {
      readonly type: "question_changed"
      readonly sessionId: SessionId
      readonly turnId: TurnId
      readonly questionId: QuestionId
      readonly status: "open" | "answered" | "cancelled"
    }
)
