/**
 * How long to wait before the next dial: full jitter, so that a fleet whose control plane restarts does not come back
 * as one wave.
 */

/** A restart of the control plane takes about this long, so the first redials come quickly. */
export const backoffFirstMs = 250
/** Well within a lease, so that a control plane that is back is found before the next lease would end. */
export const backoffMaxMs = 10_000

/** `failures` counts attempts since the last attachment, from 1; `random` is in [0, 1). */
export const backoffMs = (failures: number, random: number): number => {
  const ceiling = Math.min(backoffMaxMs, backoffFirstMs * 2 ** Math.min(failures - 1, 16))
  return Math.floor(ceiling * random)
}
