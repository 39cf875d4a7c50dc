/**
 * The order of a mutation from outside, the same for every one:
 *
 * X1 target among what the Environment holds → retained receipt by (Environment, key) → lifecycle → effect; whoever asks
 *    has been authenticated, and a refusal changes nothing
 * X2 what belongs to another Environment and what does not exist get one answer, which repeats no id
 */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { EnvironmentKey } from "@computerd/protocol/ids"
import type { Admitted, Answer } from "../admission.ts"
import type { Draft } from "../draft.ts"
import type { Given } from "../given.ts"
import { progress } from "../progress.ts"
import { type Repeatable, repeatable, retain, retained } from "../receipts.ts"

export interface OutsideCall<Arguments> {
  readonly draft: Draft
  readonly environment: EnvironmentKey
  readonly arguments: Arguments
  readonly given: Given
}

export interface OutsideRule<Arguments, Target> {
  readonly resolve: (call: OutsideCall<Arguments>) => Result<Target>
  readonly effect: (call: OutsideCall<Arguments>, target: Target) => Result<Answer>
}

export type DecideOutside<Arguments> = (call: OutsideCall<Arguments>) => Result<Admitted>

interface Keyed {
  readonly idempotencyKey: string
}

/** Keys of receipts are shared by all who act for one Environment. */
export const receiptCaller = (environment: EnvironmentKey): string => `environment:${environment}`

/** X2 */
export const missing = (what: string, field?: string): ReturnType<typeof fail> =>
  fail("not_found", `there is no such ${what}`, field)

/** What a receipt keeps of a call. */
export const outsideRequest = <Arguments extends Keyed>(
  tool: string,
  { environment, arguments: given, given: surroundings }: OutsideCall<Arguments>,
): Repeatable => {
  const { idempotencyKey: key, ...asked } = given
  return repeatable({ caller: receiptCaller(environment), key, tool, arguments: asked }, surroundings)
}

/** X1 */
export const outsideMutation =
  <Arguments extends Keyed, Target>(
    tool: string,
    rule: OutsideRule<Arguments, Target>,
  ): DecideOutside<Arguments> =>
  (call) => {
    const { draft, given } = call
    const target = rule.resolve(call)
    if (!target.ok) return target
    const request = outsideRequest(tool, call)
    const receipt = retained(draft, request)
    if (!receipt.ok) return receipt
    if (receipt.value !== undefined) return ok({ answer: receipt.value.answer, repeated: true })
    const effect = rule.effect(call, target.value)
    if (!effect.ok) return effect
    const expiresAt = given.now + given.settings.receiptRetentionMs
    retain(draft, { ...request, answer: effect.value, expiresAt }, given)
    progress(draft, given)
    return ok({ answer: effect.value, repeated: false })
  }
