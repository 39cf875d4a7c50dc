import { expect, test } from "bun:test"
import { runHistories } from "./histories.ts"
import { mutants } from "./mutants.ts"

const environments = ["one", "two", "three"]

test("short histories in memory: every answer of the receiver is the model's", async () => {
  const tally = await runHistories({
    histories: 150,
    actions: 80,
    minActions: 20,
    environments,
    compareEvery: 1,
    path: ":memory:",
  })
  expect(tally.size).toBeGreaterThan(0)
}, 60_000)

test("longer histories on a file, with restarts: every answer of the receiver is the model's", async () => {
  await runHistories({ histories: 3, actions: 400, minActions: 300, environments, compareEvery: 5 })
}, 60_000)

test("each mutant of the rules still fits the rule that it breaks", async () => {
  for (const mutant of mutants) {
    const text = await Bun.file(new URL(`../../../control-plane/${mutant.file}`, import.meta.url)).text()
    expect(text.split(mutant.original).length, mutant.name).toBe(2)
  }
})
