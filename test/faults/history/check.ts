/** The checker: what a history and the final state must satisfy, and where they do not. Pure. */
import { oneEffect, oneReceipt, sameAnswer } from "./admissions.ts"
import type { Entry, FinalState } from "./record.ts"
import { noDeadToken } from "./tokens.ts"
import { allSettled, notReplaced, notUnderHold, ranOnce, settledOnce } from "./turns.ts"

type Rule = (history: readonly Entry[], state: FinalState) => readonly string[]

const rules = {
  "an admitted key without its one receipt": oneReceipt,
  "an admitted key without its one effect": oneEffect,
  "a retry with another answer": sameAnswer,
  "a Turn that did not settle once": settledOnce,
  "a Turn that ran twice": ranOnce,
  "a Turn that ran under a hold": notUnderHold,
  "a Turn in a process of a stale generation": notReplaced,
  "a dead token that was accepted": noDeadToken,
  "something unsettled after healing": allSettled,
} as const satisfies Record<string, Rule>

export type RuleName = keyof typeof rules

export interface Finding {
  readonly rule: RuleName
  /** What broke the rule; none: it holds. */
  readonly violations: readonly string[]
}

export const ruleNames = Object.keys(rules) as readonly RuleName[]

export const check = (history: readonly Entry[], state: FinalState): readonly Finding[] =>
  ruleNames.map((rule) => ({ rule, violations: rules[rule](history, state) }))
