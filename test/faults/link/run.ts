/**
 * Simulated schedules of the link, by hand and in the nightly check:
 *   bun test/faults/link/run.ts --schedules 10000 [--seed S] [--jobs N] [--mutants]
 * Schedules have the seeds S, S+1, …; one of them alone is `--seed THAT --schedules 1`.
 */
import { availableParallelism } from "node:os"
import { parseArgs } from "node:util"
import { breakRules, mutants } from "./mutants.ts"
import type { Summary } from "./schedules.ts"

const { values } = parseArgs({
  options: {
    schedules: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    jobs: { type: "string", default: String(availableParallelism()) },
    mutants: { type: "boolean", default: false },
    /** Breaks the rules of this number before anything is loaded. */
    mutant: { type: "string" },
    /** One part of a run: tells its summary as JSON. */
    part: { type: "boolean", default: false },
  },
})

const schedules = Number(values.schedules)
const firstSeed = Number(values.seed)

const start = (...flags: readonly string[]) =>
  Bun.spawn([process.execPath, import.meta.path, ...flags], { stdout: "pipe", stderr: "inherit" })

const partOf = async (seed: number, count: number, ...flags: readonly string[]): Promise<Summary> => {
  const child = start("--part", "--seed", String(seed), "--schedules", String(count), ...flags)
  const said = await child.stdout.text()
  if ((await child.exited) !== 0) throw new Error(`the part from seed ${seed} failed`)
  return JSON.parse(said) as Summary
}

const runPart = async (): Promise<void> => {
  if (values.mutant !== undefined) breakRules(Number(values.mutant))
  const { runSchedules } = await import("./schedules.ts")
  const summary = runSchedules({ seed: firstSeed, schedules, shrink: values.mutant === undefined })
  console.log(JSON.stringify(summary))
}

const runMutants = async (): Promise<boolean> => {
  let all = true
  for (const [index, mutant] of mutants.entries()) {
    const { violations, schedules: tried } = await partOf(firstSeed, schedules, "--mutant", String(index))
    const [noticed] = violations
    all = all && noticed !== undefined
    const how = noticed === undefined ? "" : `after ${tried} schedules: ${noticed.what.slice(0, 160)}`
    console.log(`${noticed === undefined ? "MISSED " : "caught "} ${mutant.name}\n         ${how}`)
  }
  return all
}

const runAll = async (): Promise<boolean> => {
  const { joined, storyOf, tableOf } = await import("./schedules.ts")
  const began = performance.now()
  const jobs = Math.min(Number(values.jobs), schedules)
  const sizes = Array.from({ length: jobs }, (_, job) => Math.floor((schedules + job) / jobs))
  const starts = sizes.map((_, job) => firstSeed + sizes.slice(0, job).reduce((sum, size) => sum + size, 0))
  const summary = joined(await Promise.all(sizes.map((size, job) => partOf(starts[job]!, size))))
  console.log(tableOf(summary))
  console.log(`${((performance.now() - began) / 1000).toFixed(1)} s with ${jobs} processes`)
  for (const violation of summary.violations) console.log(`\n${storyOf(violation)}`)
  return summary.violations.length === 0
}

if (values.part) await runPart()
else process.exit((await (values.mutants ? runMutants() : runAll())) ? 0 : 1)
