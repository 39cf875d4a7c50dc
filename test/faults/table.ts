/** What a run tried and what the checker found, as text. */
import { ruleNames } from "./history/check.ts"
import { type Entry, ofKind } from "./history/record.ts"
import type { RunResult } from "./run-world.ts"

const sum = (results: readonly RunResult[], of: (result: RunResult) => Readonly<Record<string, number>>) => {
  const total: Record<string, number> = {}
  for (const result of results)
    for (const [name, count] of Object.entries(of(result))) total[name] = (total[name] ?? 0) + count
  return total
}

/** Every further process of a Session was a reconstruction. */
const reconstructions = (history: readonly Entry[]): number => {
  const initialised = ofKind(history, "initialised")
  return initialised.length - new Set(initialised.map(({ session }) => session)).size
}

const callsOf = ({ history }: RunResult): Readonly<Record<string, number>> => {
  const asked = ofKind(history, "asked")
  const outcomes = ofKind(history, "outcome").map(({ outcome }) => outcome.kind)
  return {
    "calls asked, retries included": asked.length,
    "calls answered": outcomes.filter((kind) => kind === "answered").length,
    "calls refused": outcomes.filter((kind) => kind === "refused").length,
    "calls without a word on their outcome": outcomes.filter((kind) => kind === "unknown").length,
    "dead headers tried": ofKind(history, "probed").length,
  }
}

const workOf = (result: RunResult): Readonly<Record<string, number>> => ({
  receipts: result.receipts,
  Turns: result.turns,
  "Turns that ran": ofKind(result.history, "began").length,
  "Session processes": ofKind(result.history, "initialised").length,
  "Session processes reconstructed": reconstructions(result.history),
  "control planes started again": result.planeRestarts,
})

const lines = (title: string, rows: Readonly<Record<string, number>>): readonly string[] => [
  "",
  `| ${title} | |`,
  "| --- | ---: |",
  ...Object.entries(rows).map(([name, count]) => `| ${name} | ${count} |`),
]

export const violationsOf = (results: readonly RunResult[]): readonly string[] =>
  results.flatMap(({ seed, findings, remains }) => [
    ...findings.flatMap(({ rule, violations }) =>
      violations.map((violation) => `seed ${seed}: ${rule}: ${violation}`),
    ),
    ...remains.map((what) => `seed ${seed}: left over: ${what}`),
  ])

const findingsOf = ({ findings, remains }: RunResult): Readonly<Record<string, number>> => ({
  ...Object.fromEntries(
    ruleNames.map((name) => [name, findings.find(({ rule }) => rule === name)?.violations.length ?? 0]),
  ),
  "process, zombie, port or file left over": remains.length,
})

export const tableOf = (results: readonly RunResult[]): string =>
  [
    ...lines(
      "faults",
      sum(results, ({ faults }) => faults),
    ),
    ...lines(
      "on the link",
      sum(results, ({ frames }) => frames),
    ),
    ...lines("work", { ...sum(results, callsOf), ...sum(results, workOf) }),
    ...lines("the checker found", sum(results, findingsOf)),
    "",
    `healed after ${results.map(({ healedAfterMs }) => `${healedAfterMs} ms`).join(", ")}; disk: ${results[0]?.disk ?? ""}`,
  ].join("\n")
