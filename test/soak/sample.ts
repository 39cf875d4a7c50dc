/** One look at the soak while it rests: memory of what lives throughout, and what is occupied. */

import type { Cast, Role } from "./cast.ts"
import { type Memory, measure, median, medianOf } from "./memory.ts"
import { type Surroundings, surroundings } from "./surroundings.ts"

export interface Sample {
  readonly memory: Readonly<Record<Role, Memory>>
  readonly surroundings: Surroundings
}

export const takeSample = async ({ stage, spared, pids }: Cast) => {
  const of = (role: Role): Promise<Memory> => measure(pids[role], stage.temporary)
  const memory = {
    "control plane": await of("control plane"),
    supervisor: await of("supervisor"),
    "Session process": await of("Session process"),
  }
  const { seen, ...found } = await surroundings(stage.rig, spared.computerId)
  return { sample: { memory, surroundings: seen }, ...found }
}

/** Figure by figure, the middle one of several samples. */
export const middle = (samples: readonly Sample[]): Sample => {
  const names = Object.keys(samples[0]?.surroundings ?? {}) as (keyof Surroundings)[]
  const memoryOf = (role: Role): Memory => medianOf(samples.map(({ memory }) => memory[role]))
  return {
    memory: {
      "control plane": memoryOf("control plane"),
      supervisor: memoryOf("supervisor"),
      "Session process": memoryOf("Session process"),
    },
    surroundings: Object.fromEntries(
      names.map((name) => [name, median(samples.map((sample) => sample.surroundings[name]))]),
    ) as never as Surroundings,
  }
}
