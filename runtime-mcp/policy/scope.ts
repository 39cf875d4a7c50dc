/**
 * What a scope grants and how two scopes compare.
 *
 * P1 one set of atoms has one normal form, and so one digest, however its rules were ordered, repeated or split
 * P2 narrowing is set inclusion: nothing derived from a maximum exceeds it
 * P3 overlap is union, and a grant implies no other: creation grants neither observation nor control
 */
import { type NormalRule, type Placement, RuleOperation, type Scope } from "@computerd/protocol/scope"
import { type Atom, atomKey, atomsOfRule, isCreation, isTargeted, normalRules } from "./atoms.ts"

/** Carried by test manifests only. Nothing publishes it and no policy can ask for it. */
export const unrestricted: Scope = { kind: "unrestricted" }
export const nothing: Scope = { kind: "finite", allow: [] }

export const normalize = (rules: readonly NormalRule[]): Scope => ({
  kind: "finite",
  allow: normalRules(rules),
})

/** What publication writes down for an Agent that names no maximum: explicit, so that nothing later widens it. */
export const defaultMaximum = (agents: readonly string[]): Scope => {
  if (agents.length === 0) return normalize([{ operation: "list_computers" }])
  return normalize(
    RuleOperation.options.map((operation): NormalRule => {
      if (isCreation(operation)) return { operation, agents, computer: "new" }
      return isTargeted(operation) ? { operation, agents } : { operation }
    }),
  )
}

export const union = (left: Scope, right: Scope): Scope => {
  if (left.kind === "unrestricted" || right.kind === "unrestricted") return unrestricted
  return normalize([...left.allow, ...right.allow])
}

/** First atom of `inner` that `outer` lacks; `"everything"` when only an unrestricted scope would do. */
export const firstBeyond = (outer: Scope, inner: Scope): Atom | "everything" | undefined => {
  if (outer.kind === "unrestricted") return undefined
  if (inner.kind === "unrestricted") return "everything"
  const held = new Set(outer.allow.flatMap(atomsOfRule).map(atomKey))
  return inner.allow.flatMap(atomsOfRule).find((atom) => !held.has(atomKey(atom)))
}

export const includes = (outer: Scope, inner: Scope): boolean => firstBeyond(outer, inner) === undefined

/** Lower-case hex SHA-256 of the normal form: the identity of a scope. */
export const scopeDigest = (scope: Scope): string => {
  const normal = scope.kind === "finite" ? normalize(scope.allow) : scope
  return new Bun.CryptoHasher("sha256").update(JSON.stringify(normal)).digest("hex")
}

export interface AskedAtom {
  readonly operation: RuleOperation
  /** A targeted operation without an Agent is granted to nobody. */
  readonly agent?: string
  /** Absent: `new`, as in a rule and as in a creation that names no Computer. */
  readonly placement?: Placement
}

const ruleGrants = (rule: NormalRule, asked: AskedAtom): boolean => {
  if (rule.operation !== asked.operation) return false
  if (rule.operation === "list_computers") return true
  if ("computer" in rule && rule.computer !== (asked.placement ?? "new")) return false
  return asked.agent !== undefined && rule.agents.includes(asked.agent)
}

export const grants = (scope: Scope, asked: AskedAtom): boolean =>
  scope.kind === "unrestricted" || scope.allow.some((rule) => ruleGrants(rule, asked))

/** Whether the operation is granted for any target at all: what makes a tool worth listing. */
export const grantsOperation = (scope: Scope, operation: RuleOperation): boolean =>
  scope.kind === "unrestricted" || scope.allow.some((rule) => rule.operation === operation)

/** Every Agent the operation may target, under whatever placement, sorted. */
export const grantedAgents = (scope: Scope, operation: RuleOperation): readonly string[] | "all" => {
  if (scope.kind === "unrestricted") return "all"
  const agents = scope.allow.flatMap((rule) =>
    rule.operation === operation && "agents" in rule ? rule.agents : [],
  )
  return [...new Set(agents)].sort()
}
