/** What is done to a world in the runs that exist: a schedule from a seed, or nothing but deaths of supervisors. */

import type { RunOptions } from "./run-world.ts"
import { seeded } from "./schedule/random.ts"
import { scheduleOf } from "./schedule/schedule.ts"

type Harm = RunOptions["harm"]

export const scheduled =
  (seed: number, lengthMs: number): Harm =>
  async (faults) => {
    const startedMs = performance.now()
    for (const fault of scheduleOf(seed, lengthMs)) {
      await Bun.sleep(Math.max(0, startedMs + fault.atMs - performance.now()))
      await faults.perform(fault)
    }
    await Bun.sleep(Math.max(0, startedMs + lengthMs - performance.now()))
  }

const nextVictimMs = 50

/** So many deaths of supervisors, each as soon as one may die. */
export const supervisorKills =
  (seed: number, kills: number): Harm =>
  async (faults) => {
    const random = seeded(seed)
    for (let done = 0; done < kills; ) {
      if ((await faults.killWorking(random.next())) !== undefined) done += 1
      await Bun.sleep(nextVictimMs)
    }
  }
