/**
 * `bun run faults`: tries faults on real processes and prints what was tried and what the checker found.
 *
 * --minutes N [--seed S]   schedules of mixed faults, one world after the other; each prints its seed, which replays it
 * --kills N [--seed S]     N kill -9 of supervisors under load
 * --points [--reach N]     dies at every crash point, at the first (or Nth) reach
 * --keep FILE              the history of the last run that broke a rule
 */
import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { scheduled, supervisorKills } from "./harms.ts"
import { faultsOf, pointsOf, type Side, walk } from "./points.ts"
import { type RunResult, runWorld } from "./run-world.ts"
import { tableOf, violationsOf } from "./table.ts"

const { values } = parseArgs({
  options: {
    minutes: { type: "string" },
    seconds: { type: "string" },
    seed: { type: "string" },
    kills: { type: "string" },
    points: { type: "boolean" },
    reach: { type: "string" },
    keep: { type: "string" },
  },
})

const minuteMs = 60_000
const worldMaxMs = 60_000
const healMaxMs = 60_000
const bosses = { mixed: 3, kills: 6 }

const lengthMs =
  values.seconds === undefined ? Number(values.minutes ?? 1) * minuteMs : Number(values.seconds) * 1_000
const firstSeed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed)

const report = (result: RunResult): void => {
  const found = violationsOf([result])
  for (const violation of found) console.log(violation)
  if (found.length === 0 || values.keep === undefined) return
  writeFileSync(values.keep, result.history.map((entry) => JSON.stringify(entry)).join("\n"))
}

const results: RunResult[] = []
const run = async (seed: number, options: Parameters<typeof runWorld>[0]["harm"], count: number) => {
  console.log(`seed ${seed}`)
  const result = await runWorld({ seed, bosses: count, healMaxMs, harm: options })
  report(result)
  results.push(result)
}

const walkBoth = async (): Promise<never> => {
  const sides: readonly Side[] = ["supervisor", "control-plane"]
  const reach = Number(values.reach ?? 1)
  const ended = await Promise.allSettled(sides.map((side) => walk({ side, points: pointsOf(side), reach })))
  const walks = ended.map((walked) => {
    if (walked.status === "rejected") throw walked.reason
    return walked.value
  })
  console.log("| crash point | |\n| --- | --- |")
  for (const [place, { points }] of walks.entries())
    for (const { point, outcome } of points) console.log(`| ${sides[place]}: ${point} | ${outcome} |`)
  const found = walks.flatMap(faultsOf)
  console.log(found.length === 0 ? "every point survived; the checker found nothing" : found.join("\n"))
  process.exit(found.length === 0 ? 0 : 1)
}

if (values.points === true) await walkBoth()
else if (values.kills !== undefined)
  await run(firstSeed, supervisorKills(firstSeed, Number(values.kills)), bosses.kills)
else
  for (let doneMs = 0, seed = firstSeed; doneMs < lengthMs; doneMs += worldMaxMs, seed += 1)
    await run(seed, scheduled(seed, Math.min(worldMaxMs, lengthMs - doneMs)), bosses.mixed)

console.log(tableOf(results))
process.exit(violationsOf(results).length === 0 ? 0 : 1)
