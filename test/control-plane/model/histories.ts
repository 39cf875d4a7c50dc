/** Histories by the thousand, from a seed. */
import fc from "fast-check"
import { type Action, History } from "./history.ts"

export interface Plan {
  readonly histories: number
  readonly actions: number
  readonly environments: readonly string[]
  readonly compareEvery: number
  readonly seed?: number
  /** On a file, which is the default, the store is closed and opened again now and then; in memory it cannot be. */
  readonly path?: string
  readonly minActions?: number
  readonly shrink?: boolean
}

const natural = fc.noBias(fc.nat(1 << 20))
const action: fc.Arbitrary<Action> = fc.record({ kind: natural, a: natural, b: natural, c: natural })

/** How often each tool was answered how, so that a run can show that it tried everything. */
export type Tally = Map<string, number>

export const runHistories = async (plan: Plan): Promise<Tally> => {
  const tally: Tally = new Map()
  const property = fc.asyncProperty(
    fc.array(action, { minLength: plan.minActions ?? 1, maxLength: plan.actions, size: "max" }),
    async (actions) => {
      const history = new History(plan)
      try {
        for (const one of actions) await history.run(one)
      } finally {
        await history.close()
        for (const [what, count] of history.stage.tally) tally.set(what, (tally.get(what) ?? 0) + count)
      }
    },
  )
  await fc.assert(property, {
    numRuns: plan.histories,
    // A mutant is only to be noticed; a real mismatch is worth its shrinking.
    endOnFailure: plan.shrink === false,
    ...(plan.seed === undefined ? {} : { seed: plan.seed }),
  })
  return tally
}
