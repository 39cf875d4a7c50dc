/** What `init` and `turn` know of their surroundings. */
import type { RuntimeMcp } from "./mcp.ts"

export interface SessionInfo {
  readonly id: string
  /** Set for Sessions that were started under a key. */
  readonly key?: string | undefined
  /** The owner of a child; absent for a root. */
  readonly parent?: string | undefined
}

export interface Recovery {
  /** `reconstructed`: an earlier process of this Session was lost, and what it held in memory with it. */
  readonly kind: "initial" | "reconstructed"
  readonly reason?: string | undefined
}

export interface InitContext {
  readonly session: SessionInfo
  readonly computer: { readonly id: string }
  readonly deployment: { readonly id: string }
  readonly recovery: Recovery
  /** Aborted when this process is asked to end. */
  readonly signal: AbortSignal
  readonly mcp: RuntimeMcp
}

export interface AgentContext<InitResult = undefined> extends InitContext {
  /** What `init` returned in this process; `undefined` for an Agent without `init`. */
  readonly initResult: InitResult
}
