/** What the nodes of one schedule share: time, randomness, the truth that is checked, and a record of what happened. */
import { idSource, type NewId } from "@computerd/protocol/ids"
import type { Random } from "./random.ts"
import type { Time } from "./time.ts"
import type { Truth } from "./truth.ts"

export interface World {
  readonly time: Time
  readonly random: Random
  readonly truth: Truth
  readonly newId: NewId
  readonly trace: (text: string) => void
  readonly faulted: (kind: string) => void
}

/** Ids that count on from `start`, so that a seed makes the same ones each time and order of making is order of ids. */
export const countingIds = (start: number): NewId => {
  let count = start
  return idSource(() => {
    count += 1
    return `01900000-0000-7000-8000-${count.toString(16).padStart(12, "0")}`
  })
}

/** What a process that was killed meets at its next step; nothing after it counts. */
export class Died extends Error {
  constructor() {
    super("the process was killed")
  }
}

/** Kills a process at the n-th crash point that it reaches; one that is dead comes past no further one. */
export interface Fuse {
  readonly reach: (point: string) => void
  readonly light: (points: number) => void
}

export const createFuse = (options: {
  readonly isAlive: () => boolean
  readonly die: (point: string) => void
}): Fuse => {
  let left = 0
  return {
    light: (points) => {
      left = points
    },
    reach: (point) => {
      if (!options.isAlive()) throw new Died()
      if (left === 0) return
      left -= 1
      if (left > 0) return
      options.die(point)
      throw new Died()
    },
  }
}
