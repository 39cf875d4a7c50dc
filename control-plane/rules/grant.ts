/**
 * What the presented descriptor allows.
 *
 * G1 a scope beyond the published maximum of the pinned Agent allows nothing, whatever a frame claims
 * G2 the grant is checked before a retained receipt is looked up
 */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { NormalRule, Placement, RuleOperation, Scope } from "@computerd/protocol/scope"
import { grants, grantsOperation, includes } from "@computerd/runtime-mcp/policy/scope"
import type { Caller } from "./caller.ts"

const sameAgents = (left: readonly string[], right: readonly string[]): boolean =>
  left.length === right.length && left.every((agent, index) => agent === right[index])

const sameRule = (left: NormalRule, right: NormalRule | undefined): boolean => {
  if (right === undefined || left.operation !== right.operation) return false
  if (!("agents" in left) || !("agents" in right)) return true
  if ("computer" in left && "computer" in right && left.computer !== right.computer) return false
  return sameAgents(left.agents, right.agents)
}

/** Most calls present the maximum itself; seeing that needs no sets. */
const isSame = (left: Scope, right: Scope): boolean => {
  if (left.kind === "unrestricted" || right.kind === "unrestricted") return left.kind === right.kind
  return (
    left.allow.length === right.allow.length &&
    left.allow.every((rule, index) => sameRule(rule, right.allow[index]))
  )
}

export const withinMaximum = (caller: Caller): Result<void> => {
  const maximum = caller.agent.runtimeMcp
  if (isSame(maximum, caller.scope) || includes(maximum, caller.scope)) return ok(undefined)
  return fail("runtime_mcp_denied", "this connection claims more than its Agent's published maximum")
}

export interface Needed {
  readonly operation: RuleOperation
  readonly agent?: string
  readonly placement?: Placement
}

const describe = (needed: Needed): string => {
  const target = needed.agent === undefined ? "" : ` for Agent ${JSON.stringify(needed.agent)}`
  if (needed.placement === undefined) return `${needed.operation}${target}`
  const where = needed.placement === "new" ? "a new Computer" : "the caller's Computer"
  return `${needed.operation}${target} on ${where}`
}

/** G1 and the exact atom. */
export const checkGrant = (caller: Caller, needed: Needed): Result<void> => {
  const within = withinMaximum(caller)
  if (!within.ok) return within
  if (grants(caller.scope, needed)) return ok(undefined)
  return fail("runtime_mcp_denied", `this connection does not grant ${describe(needed)}`)
}

/** G1 and any atom of one of the operations: for tools whose targets are the entries that they list. */
export const checkFamily = (
  caller: Caller,
  tool: string,
  operations: readonly RuleOperation[],
): Result<void> => {
  const within = withinMaximum(caller)
  if (!within.ok) return within
  if (operations.some((operation) => grantsOperation(caller.scope, operation))) return ok(undefined)
  return fail(
    "runtime_mcp_denied",
    `this connection does not grant ${tool}: it needs ${operations.join(" or ")}`,
  )
}
