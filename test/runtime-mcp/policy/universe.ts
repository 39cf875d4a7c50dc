/** Small universes of atoms, generators of rules over them, and the naive model that the policy code must agree with. */
import type { NormalRule, Placement, RuleOperation } from "@computerd/protocol/scope"
import { CreationOperation, RuleOperation as Operations, TargetedOperation } from "@computerd/protocol/scope"
import fc from "fast-check"

export interface ModelAtom {
  readonly operation: RuleOperation
  readonly agent?: string
  readonly placement?: Placement
}

export const universe = (agents: readonly string[], operations: readonly RuleOperation[]): ModelAtom[] =>
  operations.flatMap((operation): ModelAtom[] => {
    if (CreationOperation.safeParse(operation).success)
      return agents.flatMap((agent) => [
        { operation, agent, placement: "new" as const },
        { operation, agent, placement: "caller" as const },
      ])
    if (TargetedOperation.safeParse(operation).success) return agents.map((agent) => ({ operation, agent }))
    return [{ operation }]
  })

export const key = (atom: ModelAtom): string =>
  [atom.operation, atom.agent ?? "", atom.placement ?? ""].join("/")

/** One rule for each atom: the plainest way to write a set down. */
export const ruleOf = (atom: ModelAtom): NormalRule => {
  if (atom.operation === "list_computers") return { operation: atom.operation }
  const agents = [atom.agent ?? ""]
  if (atom.operation === "spawn" || atom.operation === "start")
    return { operation: atom.operation, agents, computer: atom.placement ?? "new" }
  return { operation: atom.operation, agents }
}

export const subsets = <Item>(items: readonly Item[]): Item[][] =>
  Array.from({ length: 2 ** items.length }, (_, bits) => items.filter((_, at) => (bits >> at) & 1))

export const agentKeys = ["a", "b", "c"] as const
const agents = fc.array(fc.constantFrom(...agentKeys), { minLength: 1, maxLength: 4 })

/** Rules as an author may write them: repeated, overlapping, in any order. */
const anyRule: fc.Arbitrary<NormalRule> = fc.oneof(
  fc.record({
    operation: fc.constantFrom(...CreationOperation.options),
    agents,
    computer: fc.constantFrom<Placement>("new", "caller"),
  }),
  fc.record({ operation: fc.constantFrom(...TargetedOperation.options), agents }),
  fc.constant<NormalRule>({ operation: "list_computers" }),
)
export const anyRules = fc.array(anyRule, { maxLength: 8 })

export const modelAtoms = (rules: readonly NormalRule[]): Set<string> =>
  new Set(
    rules.flatMap((rule) => {
      if (rule.operation === "list_computers") return [key({ operation: rule.operation })]
      if ("computer" in rule)
        return rule.agents.map((agent) => key({ operation: rule.operation, agent, placement: rule.computer }))
      return rule.agents.map((agent) => key({ operation: rule.operation, agent }))
    }),
  )

export const everyAtom = universe(agentKeys, Operations.options)
