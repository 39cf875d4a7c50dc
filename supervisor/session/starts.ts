/**
 * How many Session processes may be starting at once. After a boot all of them do, and each starts slower the more do;
 * a start counts until its process has come to the channel, since an `init` may then wait for whatever it likes.
 *
 * ST1 nothing starts before `open`: what an earlier supervisor left and nobody knows is ended first
 */
import type { ProcessIdentity } from "../process/identity.ts"

export interface Starts {
  /** Resolves when it is this one's turn; never, if it is given up before. */
  readonly take: (process: ProcessIdentity) => Promise<void>
  readonly open: () => void
  /** It has started, or will not; for one that is not known nothing happens. */
  readonly done: (process: ProcessIdentity) => void
}

export const startsAtOnceMax = 8

const keyOf = ({ sessionId, generation }: ProcessIdentity): string => `${sessionId} ${generation}`

export const createStarts = (max: number = startsAtOnceMax): Starts => {
  const starting = new Set<string>()
  const waiting = new Map<string, () => void>()
  let gate: "shut" | "open" = "shut"

  const admit = (): void => {
    for (const [key, begin] of waiting) {
      if (gate === "shut" || starting.size >= max) return
      waiting.delete(key)
      starting.add(key)
      begin()
    }
  }

  return {
    take: (process) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.set(keyOf(process), resolve)
      admit()
      return promise
    },
    open: () => {
      gate = "open"
      admit()
    },
    done: (process) => {
      const key = keyOf(process)
      waiting.delete(key)
      if (starting.delete(key)) admit()
    },
  }
}
