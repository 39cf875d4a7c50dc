import { expect, test } from "bun:test"
import { runSchedules, storyOf, tableOf } from "./schedules.ts"

test("three hundred schedules of faults on the link break no rule", () => {
  const summary = runSchedules({ seed: 1, schedules: 150, shrink: true })
  expect(summary.violations.map(storyOf)).toEqual([])
  expect(summary.schedules).toBe(150)
  expect(tableOf(summary)).toContain("0  violations")
}, 120_000)
