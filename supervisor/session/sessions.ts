/** The Sessions of this Computer: what other subjects of the supervisor may ask of them. */
import type { McpConnection } from "@computerd/protocol/channel"
import type { SupervisorConfiguration } from "@computerd/protocol/configuration"
import type { Result } from "@computerd/protocol/errors"
import type { SessionId, TurnId } from "@computerd/protocol/ids"
import type {
  ExitReason,
  LinkCommand,
  LinkDownFrame,
  LinkEvent,
  LivingProcess,
  SessionAssignment,
} from "@computerd/protocol/link"
import type { SessionState } from "@computerd/protocol/operator"
import type { Bundles } from "../bundle/bundles.ts"
import type { Journal } from "../journal.ts"
import type { Ports } from "../ports.ts"
import type { ProcessIdentity } from "../process/identity.ts"
import type { Store } from "../store/open.ts"
import type { SessionTime } from "./time.ts"

export type { ProcessIdentity }

/** The argument of `ctx.mcp.getConnectionOptions`; not given means the maximum. */
export type AskedPolicy = { readonly given: false } | { readonly given: true; readonly value: unknown }

export interface SessionsDeps {
  readonly ports: Ports
  readonly journal: Journal
  readonly store: Store
  readonly config: SupervisorConfiguration
  readonly bundles: Bundles
  /** Whether this supervisor holds the lease of its Computer: without it nothing is started or dispatched. */
  readonly hasLease: () => boolean
  readonly time: SessionTime
  /** Appends to the durable outbox. Always called inside the transaction of the change that it reports. */
  readonly emit: (event: LinkEvent) => void
  readonly connect: (process: ProcessIdentity, policy: AskedPolicy) => Promise<Result<McpConnection>>
  /** The process is gone or ending: its listener is answered and closed, its tokens are dead. */
  readonly disconnect: (process: ProcessIdentity, cause: "exited" | "shutting_down") => Promise<void>
}

export type Attached = Extract<LinkDownFrame, { readonly kind: "attached" }>

export interface SessionView {
  readonly sessionId: SessionId
  readonly assignment: SessionAssignment
  /** `assigned`: it has had no process yet. `exited`: it has none now. */
  readonly state: SessionState
  /** Of the living or last process; 0 before the first. */
  readonly generation: number
  readonly pid: number | undefined
  readonly turn: { readonly id: TurnId; readonly startedAtMs: number } | undefined
  readonly held: boolean
  /** The process has been asked to end, or the supervisor is ending: no getter call and no request is served. */
  readonly shuttingDown: boolean
  readonly lastExit: ExitReason | undefined
}

export interface Sessions {
  /**
   * Takes over a command. Idempotent. Call it inside the store transaction that moves the inbound cursor: it only
   * writes, and acts once that transaction has committed.
   */
  readonly apply: (command: LinkCommand) => void
  /** Takes over the whole of what must run here (F2): starts, stops, drops. Same transaction rule. */
  readonly reconcile: (run: Attached["run"]) => void
  /** The lease is held again: everything goes on, and the steps that waited for it are taken. */
  readonly resume: () => void
  /** No lease is held any more: nothing of what is here runs before the next one, and what is ended is killed. */
  readonly freeze: () => void
  /** Wall time; unset: Session processes run. */
  readonly frozenSinceMs: () => number | undefined
  /** Processes that this supervisor started and whose end it has not heard of. */
  readonly started: () => readonly number[]
  readonly living: () => readonly LivingProcess[]
  readonly view: () => readonly SessionView[]
  readonly find: (sessionId: SessionId) => SessionView | undefined
  /** A process of an earlier supervisor lacks what it was promised: it is ended and replaced. */
  readonly abandon: (process: ProcessIdentity, message: string) => void
  /** Ends every process tree, gracefully first; answers with what failed. Nothing starts afterwards. */
  readonly stop: (deadlineMs: number) => Promise<readonly string[]>
}
