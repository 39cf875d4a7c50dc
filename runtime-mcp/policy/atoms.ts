/**
 * A scope is the set of atoms (operation, Agent, placement); rules are only a way to write that set down. Everything
 * that compares scopes compares atoms, so order, duplication and the split into rules cannot matter.
 */
import {
  CreationOperation,
  type NormalRule,
  Placement,
  RuleOperation,
  TargetedOperation,
} from "@computerd/protocol/scope"

export type Atom =
  | { readonly operation: CreationOperation; readonly agent: string; readonly placement: Placement }
  | { readonly operation: TargetedOperation; readonly agent: string }
  | { readonly operation: "list_computers" }

const creations: readonly string[] = CreationOperation.options
const targeted: readonly string[] = TargetedOperation.options

export const isCreation = (operation: RuleOperation): operation is CreationOperation =>
  creations.includes(operation)

export const isTargeted = (operation: RuleOperation): operation is TargetedOperation =>
  targeted.includes(operation)

export const atomsOfRule = (rule: NormalRule): readonly Atom[] => {
  if (rule.operation === "list_computers") return [{ operation: rule.operation }]
  if ("computer" in rule) {
    const { operation, computer: placement } = rule
    return rule.agents.map((agent) => ({ operation, agent, placement }))
  }
  const { operation } = rule
  return rule.agents.map((agent) => ({ operation, agent }))
}

/** Identity of an atom. Agent keys hold no space, so two atoms never share one. */
export const atomKey = (atom: Atom): string => {
  if (atom.operation === "list_computers") return atom.operation
  return "placement" in atom
    ? `${atom.operation} ${atom.placement} ${atom.agent}`
    : `${atom.operation} ${atom.agent}`
}

/** By code unit, so that no locale decides what a digest is. */
const sortedDistinct = (agents: readonly string[]): readonly string[] => [...new Set(agents)].sort()

const creationRules = (rules: readonly NormalRule[], operation: CreationOperation): readonly NormalRule[] =>
  Placement.options.flatMap((computer) => {
    const agents = rules.flatMap((rule) =>
      rule.operation === operation && rule.computer === computer ? rule.agents : [],
    )
    return agents.length === 0 ? [] : [{ operation, agents: sortedDistinct(agents), computer }]
  })

const targetedRules = (rules: readonly NormalRule[], operation: TargetedOperation): readonly NormalRule[] => {
  const agents = rules.flatMap((rule) => (rule.operation === operation ? rule.agents : []))
  return agents.length === 0 ? [] : [{ operation, agents: sortedDistinct(agents) }]
}

/** The canonical form: operations in the protocol's order, `new` before `caller`, Agents sorted and distinct. */
export const normalRules = (rules: readonly NormalRule[]): readonly NormalRule[] =>
  RuleOperation.options.flatMap((operation) => {
    if (isCreation(operation)) return creationRules(rules, operation)
    if (isTargeted(operation)) return targetedRules(rules, operation)
    return rules.some((rule) => rule.operation === operation) ? [{ operation }] : []
  })
