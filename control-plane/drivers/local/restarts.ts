/**
 * Whether a supervisor that died is started again, and after what wait. Pure.
 *
 * DR1 the first death is answered at once: its Session processes live on and wait for the next one
 * DR2 later ones wait twice as long each, and one death too many within the window makes the Computer lost
 */

export interface RestartPolicy {
  readonly windowMs: number
  readonly deathsMax: number
  readonly firstDelayMs: number
  readonly delayMaxMs: number
}

/** Well below the time after which a Session process that hears nothing ends itself. */
export const restartPolicy: RestartPolicy = {
  windowMs: 60_000,
  deathsMax: 20,
  firstDelayMs: 50,
  delayMaxMs: 5_000,
}

export type Restart =
  | { readonly do: "start"; readonly delayMs: number; readonly deaths: readonly number[] }
  | { readonly do: "give_up"; readonly deaths: number }

/** `deaths` are times of earlier ones. The clock may have leapt; a death far from now in either direction is old. */
export const afterDeath = (
  deaths: readonly number[],
  now: number,
  policy: RestartPolicy = restartPolicy,
): Restart => {
  const counted = [...deaths.filter((at) => Math.abs(now - at) <= policy.windowMs), now]
  if (counted.length > policy.deathsMax) return { do: "give_up", deaths: counted.length }
  const later = counted.length - 2
  const delayMs = later < 0 ? 0 : Math.min(policy.delayMaxMs, policy.firstDelayMs * 2 ** later)
  return { do: "start", delayMs, deaths: counted }
}
