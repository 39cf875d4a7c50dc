/** Runtime MCP as programs see it: what they may ask for and what they get. */
import type { creationOperations, placements, targetedOperations } from "@computerd/protocol/scope"

type CreationOperation = (typeof creationOperations)[number]
type TargetedOperation = (typeof targetedOperations)[number]
type Placement = (typeof placements)[number]

/** One operation, on exact Agent keys of the same Deployment. Rules that overlap are united. */
export type RuntimeMcpRule =
  | {
      readonly operation: CreationOperation
      readonly agents: readonly string[]
      /** On which Computer the new Session runs. Absent: `"new"`. */
      readonly computer?: Placement
    }
  | { readonly operation: TargetedOperation; readonly agents: readonly string[] }
  | { readonly operation: "list_computers" }

/** `{ allow: [] }` leaves `skills` only. */
export interface RuntimeMcpPolicy {
  readonly allow: readonly RuntimeMcpRule[]
}

/** Spreads into the configuration of any Streamable HTTP client. The header is a secret of this process. */
export interface RuntimeMcpConnectionOptions {
  readonly url: string
  readonly headers: Readonly<{ Authorization: string }>
}

export interface RuntimeMcp {
  /**
   * The connection of this Session process: its Agent's maximum, or the part of it that `policy` names. Rejects with
   * a `HelmrError`: `invalid_runtime_mcp_policy`, `runtime_mcp_denied`, `runtime_mcp_scope_limit`, or
   * `session_shutdown` once the process is ending.
   */
  getConnectionOptions(policy?: RuntimeMcpPolicy): Promise<RuntimeMcpConnectionOptions>
}
