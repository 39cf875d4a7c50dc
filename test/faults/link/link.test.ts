/** Each in a process of its own: one that is killed in a schedule leaves promises that nobody waits for. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import { mutants } from "./mutants.ts"
import type { Summary } from "./schedules.ts"

const part = async (...flags: readonly string[]): Promise<Summary> => {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "run.ts"), "--part", ...flags], {
    stdout: "pipe",
  })
  const said = await child.stdout.text()
  expect(await child.exited).toBe(0)
  return JSON.parse(said) as Summary
}

test("two hundred schedules of faults on the link break no rule", async () => {
  const summary = await part("--seed", "1", "--schedules", "200")
  expect(summary.violations).toEqual([])
  expect(summary.schedules).toBe(200)
  expect(Object.keys(summary.faults).length).toBeGreaterThan(20)
}, 120_000)

test("a schedule is the same each time that its seed runs", async () => {
  const first = await part("--seed", "77", "--schedules", "5")
  expect(await part("--seed", "77", "--schedules", "5")).toEqual(first)
}, 60_000)

test("a rule that is broken on purpose is noticed", async () => {
  const mutant = mutants.findIndex(({ name }) => name === "a command that comes again is applied again")
  const { violations } = await part("--mutant", String(mutant), "--seed", "1", "--schedules", "60")
  expect(violations[0]?.what).toStartWith("T2")
}, 60_000)
