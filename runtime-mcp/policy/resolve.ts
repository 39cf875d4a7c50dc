/** The two places where a policy becomes authority: an Agent's maximum at publication, and a narrower scope later. */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { Scope } from "@computerd/protocol/scope"
import type { Atom } from "./atoms.ts"
import { parsePolicy } from "./parse.ts"
import { defaultMaximum, firstBeyond } from "./scope.ts"

/** Kept apart from the value, so that an explicit `null` is never read as "the maximum". */
export type GivenPolicy = { readonly given: false } | { readonly given: true; readonly value: unknown }

export const resolveMaximum = (policy: GivenPolicy, manifestAgents: readonly string[]): Result<Scope> =>
  policy.given ? parsePolicy(policy.value, manifestAgents) : ok(defaultMaximum(manifestAgents))

const describe = (atom: Atom): string => {
  if (atom.operation === "list_computers") return atom.operation
  return "placement" in atom
    ? `${atom.operation} of Agent ${atom.agent} on a ${atom.placement === "new" ? "new Computer" : "caller's Computer"}`
    : `${atom.operation} of Agent ${atom.agent}`
}

/** Whether `requested` lies within `maximum`. A valid request beyond it is `runtime_mcp_denied`. */
export const narrow = (maximum: Scope, requested: Scope): Result<Scope> => {
  const beyond = firstBeyond(maximum, requested)
  if (beyond === undefined) return ok(requested)
  const what = beyond === "everything" ? "unrestricted authority" : describe(beyond)
  return fail("runtime_mcp_denied", `the Agent's maximum does not include ${what}; ask for a subset of it`)
}

/** The scope that a getter call asks for. */
export const requestedScope = (
  policy: GivenPolicy,
  maximum: Scope,
  manifestAgents: readonly string[],
): Result<Scope> => {
  if (!policy.given) return ok(maximum)
  const parsed = parsePolicy(policy.value, manifestAgents)
  return parsed.ok ? narrow(maximum, parsed.value) : parsed
}
