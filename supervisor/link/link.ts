/** What the control-plane link needs from the rest of the supervisor, and what it offers. */
import type { Failure, Result } from "@computerd/protocol/errors"
import type { ComputerId, RequestId } from "@computerd/protocol/ids"
import type { AdmissionAnswer, LinkCommand, LivingProcess } from "@computerd/protocol/link"
import type { Journal } from "../journal.ts"
import type { Ports } from "../ports.ts"
import type { LeaseTable } from "../store/lease.ts"
import type { Store } from "../store/open.ts"
import type { Attached } from "./attempt.ts"
import type { UnfencedFrame } from "./dial.ts"
import type { Lease } from "./lease.ts"
import type { Outbox } from "./outbox.ts"
import type { LinkTransport } from "./transport.ts"

/** Tool calls are decided and tracked elsewhere; the link carries their frames and says when it comes and goes. */
export interface LinkRequests {
  readonly attached: () => void
  readonly lost: () => void
  readonly answered: (requestId: RequestId, answer: AdmissionAnswer) => void
  readonly receipt: (requestId: RequestId, answer: AdmissionAnswer | undefined) => void
}

/** Both writes happen inside the link's own store transaction. */
export interface LinkSessions {
  readonly apply: (command: LinkCommand) => void
  readonly reconcile: (run: Attached["run"]) => void
  readonly living: () => readonly LivingProcess[]
}

export interface LinkDeps {
  readonly ports: Ports
  readonly transport: LinkTransport
  readonly journal: Journal
  readonly store: Store
  readonly leases: LeaseTable
  readonly outbox: Outbox
  readonly lease: Lease
  readonly sessions: LinkSessions
  readonly requests: LinkRequests
  readonly computerId: ComputerId
  readonly controlPlaneUrl: string
  readonly bootId: string
  readonly version: string
  /** Read anew for each attempt, so that it can be replaced on disk. */
  readonly credential: () => Result<string>
  /** Attached, for the first time or again. */
  readonly attached: () => void
  /** The control plane wants nothing more of this supervisor. */
  readonly rejected: (error: Failure) => void
}

export type LinkState = "connecting" | "attached" | "backing_off" | "refused"

export interface LinkStatus {
  readonly state: LinkState
  readonly url: string
  readonly sinceMs: number
  /** Since the last attachment. */
  readonly attempts: number
  readonly lastError: string | undefined
}

export interface Link {
  readonly start: () => void
  readonly status: () => LinkStatus
  /** Puts a frame on the wire; false when the link is not attached. */
  readonly send: (frame: UnfencedFrame) => boolean
  /** Events were committed to the outbox. */
  readonly pump: () => void
  /** This process has not run for a while: makes sure of the connection, or dials without waiting longer. */
  readonly verify: () => void
  /** Waits until the outbox is empty, at most so long; tells whether it is. */
  readonly flush: (limitMs: number) => Promise<boolean>
  /** Gives the lease back, closes, and never dials again. */
  readonly close: () => Promise<void>
}
