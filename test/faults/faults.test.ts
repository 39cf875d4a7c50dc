/** A short fixed set of what `bun run faults` tries for longer: two schedules, and points at which either side dies. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test"
import { scheduled } from "./harms.ts"
import { faultsOf, pointsOf, type Side, walk } from "./points.ts"
import { runWorld } from "./run-world.ts"
import { tableOf, violationsOf } from "./table.ts"

setDefaultTimeout(180_000)

const lengthMs = 3_500
const healMaxMs = 60_000
const seeds = [1, 2]

const printed: string[] = []
afterAll(() => {
  for (const text of printed) console.log(text)
})

for (const seed of seeds)
  test(`nothing is lost, done twice or left over under the faults of seed ${seed}`, async () => {
    const result = await runWorld({ seed, bosses: 2, healMaxMs, harm: scheduled(seed, lengthMs) })
    printed.push(`seed ${seed}`, tableOf([result]))
    expect(violationsOf([result])).toEqual([])
    expect(result.turns).toBeGreaterThan(0)
  })

/** The instants at which most is under way; `bun run faults --points` visits all of them. */
const instants: Readonly<Record<Side, readonly string[]>> = {
  supervisor: [
    "generation.after_commit",
    "process.before_record",
    "report.after_commit",
    "admission.after_send",
    "receipt.before_settle",
  ],
  "control-plane": ["start.after_commit", "admission.after_commit", "event.before_commit"],
}

for (const [side, points] of [
  ["supervisor", instants.supervisor],
  ["control-plane", instants["control-plane"]],
] as const)
  test(`a ${side} that dies in the middle of ${points.length} durable steps loses nothing`, async () => {
    expect(pointsOf(side)).toEqual(expect.arrayContaining([...points]))
    expect(faultsOf(await walk({ side, points, reach: 1 }))).toEqual([])
  })
