/** How often supervisors of one Computer were killed lately: beyond its driver's limit the Computer would be lost, rightly. */
import { restartPolicy } from "@computerd/control-plane/drivers/local/restarts"

export interface Deaths {
  readonly mayDie: (computer: string) => boolean
  readonly died: (computer: string) => void
}

/** Crash points and disks kill supervisors too. */
const reserve = 4

export const createDeaths = (now: () => number): Deaths => {
  const times = new Map<string, readonly number[]>()
  const recent = (computer: string): readonly number[] =>
    (times.get(computer) ?? []).filter((at) => now() - at <= restartPolicy.windowMs)
  return {
    mayDie: (computer) => recent(computer).length < restartPolicy.deathsMax - reserve,
    died: (computer) => void times.set(computer, [...recent(computer), now()]),
  }
}
