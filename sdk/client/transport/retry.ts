/**
 * Whether and when an attempt is repeated. Pure.
 *
 * Y1 what may have been applied is repeated only under a key that makes the repetition have no second effect
 * Y2 a refusal that the server calls final is never repeated
 * Y3 the server's Retry-After is a lower bound of the pause; a pause that the time does not allow ends the call
 */
import { errorTraits } from "@computerd/protocol/errors"
import type { Outcome, Refusal } from "./outcome.ts"

const firstDelayMs = 250
const delayMaxMs = 5_000

/** Of answers that did not come from the control plane itself, such as a proxy's. */
const passingStatus: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504])

const passes = ({ status, code }: Refusal): boolean =>
  code === undefined ? passingStatus.has(status) : errorTraits[code].retryable

export const mayPass = (outcome: Outcome<unknown>): boolean => {
  switch (outcome.kind) {
    case "answered":
    case "unexpected":
      return false
    case "unreachable":
      return true
    case "refused":
      return passes(outcome.refusal)
  }
}

/** Doubles from attempt to attempt; half of it is left to chance, so that many clients do not come back together. */
export const backoffMs = (attempt: number, random: number): number => {
  const whole = Math.min(delayMaxMs, firstDelayMs * 2 ** (attempt - 1))
  return whole / 2 + (whole / 2) * random
}

export interface Attempted {
  readonly outcome: Outcome<unknown>
  /** From 1. */
  readonly attempt: number
  /** It changes nothing, or it has a key. */
  readonly repeatable: boolean
  readonly maxRetries: number
  readonly remainingMs: number
  readonly random: number
}

/** The pause before the next attempt; absent when this was the last one. */
export const nextDelayMs = ({ outcome, attempt, ...rest }: Attempted): number | undefined => {
  if (!rest.repeatable || attempt > rest.maxRetries || !mayPass(outcome)) return undefined
  const askedMs = outcome.kind === "refused" ? (outcome.refusal.retryAfterMs ?? 0) : 0
  const delayMs = Math.max(askedMs, backoffMs(attempt, rest.random))
  return delayMs < rest.remainingMs ? delayMs : undefined
}
