/**
 * Which scopes one Session process may retain: its maximum, always, and a bounded number of distinct proper subsets.
 *
 * S1 the maximum never counts, whether or not it was asked for
 * S2 at the limit a retained scope is still served, and nothing is replaced
 */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { properScopesMax } from "@computerd/protocol/limits"

export interface ScopeRequest {
  /** Digest of the scope that is asked for. */
  readonly asked: string
  readonly maximum: string
  /** Digests of the scopes that the process has asked for before. */
  readonly retained: ReadonlySet<string>
}

export const retain = ({ asked, maximum, retained }: ScopeRequest): Result<"retained" | "added"> => {
  if (retained.has(asked)) return ok("retained")
  const proper = [...retained].filter((digest) => digest !== maximum).length
  if (asked === maximum || proper < properScopesMax) return ok("added")
  return fail(
    "runtime_mcp_scope_limit",
    `this process already has its maximum and ${properScopesMax} narrower scopes; ask for one of those again`,
  )
}
