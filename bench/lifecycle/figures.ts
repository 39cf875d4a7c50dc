/** Times in milliseconds and memory in MiB, as they are told. */
import { readFileSync } from "node:fs"

export const now = (): number => Bun.nanoseconds() / 1e6

export const median = (values: readonly number[]): number =>
  values.toSorted((one, two) => one - two)[values.length >> 1] ?? Number.NaN

export const shown = (values: readonly number[]): string =>
  `${median(values).toFixed(1)} (worst ${Math.max(...values).toFixed(1)})`

export const ratio = (value: number, base: number): string => `${(value / base).toFixed(2)} x`

export interface Memory {
  /** As `ps` shows it. */
  readonly resident: number
  /** Pages of its own and its share of those that it shares. */
  readonly proportional: number
}

export const memoryOf = (pid: number): Memory => {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8")
  const miB = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(rollup)?.[1] ?? Number.NaN) / 1024
  return { resident: miB("Rss"), proportional: miB("Pss") }
}
