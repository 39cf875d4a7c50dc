/**
 * The receiver: decides admissions, remembers, dispatches, settles. No sockets and no processes: drivers and the link
 * server call it. Every call is durable when it returns (or when its promise resolves).
 */
import type { Residency } from "@computerd/protocol/content"
import type { Result } from "@computerd/protocol/errors"
import type {
  ComputerId,
  DeploymentId,
  EnvironmentKey,
  Epoch,
  SessionId,
  TurnId,
} from "@computerd/protocol/ids"
import type {
  AdmissionAnswer,
  AdmissionRequest,
  Lease,
  LinkCommand,
  LinkEvent,
} from "@computerd/protocol/link"
import type { DeploymentManifest } from "@computerd/protocol/manifest"
import type { Numbered } from "@computerd/protocol/numbering"
import type { AttachedFrame, AttachFrame } from "../rules/attachment.ts"
import type { StartRequest } from "../rules/client.ts"
import type { Settings } from "../rules/given.ts"
import type { OperatorControl, OperatorReceipt } from "../rules/operator.ts"
import type { ComputerRow, FleetEvent, FleetSnapshot, TurnView } from "./fleet.ts"
import type { ApiKeys } from "./keys.ts"
import type { OutsideCalls } from "./outside/outside.ts"

export type Unsubscribe = () => void

export interface StartedSession {
  readonly sessionId: SessionId
  readonly turnId: TurnId
  readonly sequence: number
}

export interface Receiver {
  /** Stores an immutable Deployment; it becomes the Environment's current one. Throws when the store cannot. */
  readonly addDeployment: (
    environment: EnvironmentKey,
    manifest: DeploymentManifest,
  ) => { readonly deploymentId: DeploymentId }
  readonly deployment: (id: DeploymentId) => DeploymentManifest | undefined
  readonly currentDeployment: (environment: EnvironmentKey) => DeploymentId | undefined

  readonly startSession: (request: StartRequest) => Result<StartedSession>
  readonly control: (request: OperatorControl) => Result<OperatorReceipt>

  /** What a driver must have running, oldest first. `computers` also tells what is to be parked or deleted. */
  readonly computersToRun: () => readonly ComputerRow[]
  readonly computers: () => readonly ComputerRow[]
  readonly registerCredential: (computerId: ComputerId, sha256Hex: string) => void
  /** Constant time over the credential; the hash alone is stored. */
  readonly authenticate: (credential: string) => ComputerId | undefined
  /** The driver reports; with `unavailable` the reason is shown beside every Turn that waits for it. */
  readonly computerState: (computerId: ComputerId, residency: Residency, reason?: string) => void
  /** The driver has removed a Computer whose status was `deleting`. */
  readonly computerDeleted: (computerId: ComputerId) => void
  /** The supervisor is gone with its processes: its running Turns settle `interrupted`, `process_lost`. */
  readonly computerLost: (computerId: ComputerId, reason: string) => void

  readonly attach: (computerId: ComputerId, attach: AttachFrame) => Result<AttachedFrame>
  readonly renew: (computerId: ComputerId, epoch: Epoch) => Result<Lease>
  readonly detach: (computerId: ComputerId, epoch: Epoch) => void
  /** Applied once. A repeat is ok; a gap is `invalid_frame` and the connection is to be ended. */
  readonly event: (
    computerId: ComputerId,
    epoch: Epoch,
    seq: number,
    atMs: number,
    event: LinkEvent,
  ) => Result<void>
  /** `signal` ends a wait; it never undoes a mutation. */
  readonly admit: (
    computerId: ComputerId,
    epoch: Epoch,
    request: AdmissionRequest,
    signal: AbortSignal,
  ) => Promise<AdmissionAnswer>
  readonly receipt: (
    computerId: ComputerId,
    epoch: Epoch,
    sessionId: SessionId,
    idempotencyKey: string,
  ) => AdmissionAnswer | undefined
  readonly commandsAfter: (computerId: ComputerId, seq: number) => readonly Numbered<LinkCommand>[]
  readonly acknowledge: (computerId: ComputerId, seq: number) => void
  readonly onCommand: (listener: (computerId: ComputerId) => void) => Unsubscribe

  /** What clients of the public API ask. */
  readonly outside: OutsideCalls
  readonly keys: ApiKeys
  /** Something has happened in the trees of these roots, and can be read. */
  readonly onHistory: (listener: (roots: ReadonlySet<SessionId>) => void) => Unsubscribe

  readonly onEvent: (listener: (event: FleetEvent) => void) => Unsubscribe
  readonly snapshot: () => FleetSnapshot
  readonly turn: (sessionId: SessionId, turnId: TurnId) => TurnView | undefined
  /** Rejects with `not_found` for an unknown Turn and with the signal's reason when it aborts. */
  readonly waitTurn: (
    sessionId: SessionId,
    turnId: TurnId,
    timeoutMs: number,
    signal: AbortSignal,
  ) => Promise<TurnView | "timeout">

  /** Ends waits (`admission_unavailable`) and timers, then closes the store. */
  readonly close: () => Promise<void>
}

export type {
  AttachedFrame,
  AttachFrame,
  ComputerRow,
  FleetEvent,
  FleetSnapshot,
  OperatorControl,
  OperatorReceipt,
  Settings,
  StartRequest,
  TurnView,
}
