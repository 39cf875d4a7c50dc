/**
 * The order of an admission, the same for every tool:
 *
 * O1 caller → arguments → target among what the caller can reach → grant → retained receipt → role, relation,
 *    lifecycle → effect; the first that refuses answers, and a refusal changes nothing
 * O2 an accepted mutation leaves exactly one receipt, in the transaction of its effect
 */
import type { Json } from "@computerd/protocol/content"
import { ok, type Result } from "@computerd/protocol/errors"
import type { Caller } from "./caller.ts"
import type { Draft } from "./draft.ts"
import type { Given } from "./given.ts"
import { progress } from "./progress.ts"
import { repeatable, retain, retained } from "./receipts.ts"

export type Answer = { readonly [field: string]: Json }

export interface Admitted {
  readonly answer: Answer
  /** A receipt that was already there. */
  readonly repeated: boolean
}

/** One admission under way. */
export interface Admission<Arguments> {
  readonly draft: Draft
  readonly caller: Caller
  readonly arguments: Arguments
  readonly given: Given
}

export interface ToolRule<Arguments, Target> {
  readonly resolve: (admission: Admission<Arguments>) => Result<Target>
  readonly allowed: (admission: Admission<Arguments>, target: Target) => Result<void>
  /** Role, relation, lifecycle, then the effect. */
  readonly effect: (admission: Admission<Arguments>, target: Target) => Result<Answer>
}

export type Decide<Arguments> = (admission: Admission<Arguments>) => Result<Admitted>

export const observation =
  <Arguments, Target>(rule: ToolRule<Arguments, Target>): Decide<Arguments> =>
  (admission) => {
    const target = rule.resolve(admission)
    if (!target.ok) return target
    const allowed = rule.allowed(admission, target.value)
    if (!allowed.ok) return allowed
    const seen = rule.effect(admission, target.value)
    return seen.ok ? ok({ answer: seen.value, repeated: false }) : seen
  }

export const mutation =
  <Arguments extends { readonly idempotencyKey: string }, Target>(
    tool: string,
    rule: ToolRule<Arguments, Target>,
  ): Decide<Arguments> =>
  (admission) => {
    const { draft, caller, given } = admission
    const target = rule.resolve(admission)
    if (!target.ok) return target
    const allowed = rule.allowed(admission, target.value)
    if (!allowed.ok) return allowed
    const key = admission.arguments.idempotencyKey
    const request = repeatable(
      { caller: caller.session.id, key, tool, arguments: admission.arguments },
      given,
    )
    const receipt = retained(draft, request)
    if (!receipt.ok) return receipt
    if (receipt.value !== undefined) return ok({ answer: receipt.value.answer, repeated: true })
    const effect = rule.effect(admission, target.value)
    if (!effect.ok) return effect
    retain(draft, { ...request, answer: effect.value, expiresAt: null }, given)
    progress(draft, given)
    return ok({ answer: effect.value, repeated: false })
  }
