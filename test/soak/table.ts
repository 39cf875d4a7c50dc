/** The soak's result: what was measured at its start, after six minutes and at its end, and whether it grew. */
import { type Role, roles } from "./cast.ts"
import type { Memory } from "./memory.ts"
import { middle, type Sample } from "./sample.ts"

/** After six minutes caches are full and code is compiled; what grows from there on has no bound. */
export const settledMinute = 6
const growthMax = 1.1

const mebi = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)
const plain = (value: number): string => String(value)

interface Row {
  readonly name: string
  readonly at: (sample: Sample) => number
  readonly show: (value: number) => string
  readonly judged: boolean
}

const memoryRows = (role: Role): readonly Row[] => {
  const row = (name: string, figure: keyof Memory, judged = false): Row => ({
    name: `${role}: ${name}`,
    at: ({ memory }) => memory[role][figure],
    show: figure === "objects" || figure === "descriptors" ? plain : mebi,
    judged,
  })
  return [
    row("anonymous memory, MiB", "anonymous", true),
    row("heap, MiB", "heap", true),
    row("resident, MiB", "resident"),
    row("proportional share, MiB", "proportional"),
    row("objects", "objects"),
    row("open descriptors", "descriptors"),
  ]
}

const stock = (name: string, figure: keyof Sample["surroundings"], show = plain): Row => ({
  name,
  at: ({ surroundings }) => surroundings[figure],
  show,
  judged: false,
})

const rows: readonly Row[] = [
  ...roles.flatMap(memoryRows),
  stock("processes", "processes"),
  stock("zombies", "zombies"),
  stock("listening ports", "ports"),
  stock("files", "files"),
  stock("control plane: store, MiB", "controlPlaneStore", mebi),
  stock("control plane: write-ahead log, MiB", "controlPlaneLog", mebi),
  stock("supervisor: store, MiB", "supervisorStore", mebi),
  stock("supervisor: write-ahead log, MiB", "supervisorLog", mebi),
  stock("supervisor: outbox rows", "outbox"),
  stock("supervisor: admission rows", "admissions"),
]

/** Three samples around a moment stand for it. `samples[n]` was taken after minute n. */
const around = (samples: readonly Sample[], minute: number): Sample =>
  middle(samples.slice(Math.max(minute - 1, 0), minute + 2))

export const judge = (samples: readonly Sample[]) => {
  const last = samples.length - 1
  const [start, settled, end] = [
    samples[0]!,
    around(samples, Math.min(settledMinute, last)),
    around(samples, last - 1),
  ]
  const table: Record<string, Readonly<Record<string, string>>> = {}
  const grown: string[] = []
  for (const { name, at, show, judged } of rows) {
    const ratio = at(end) / at(settled)
    if (judged && ratio > growthMax) grown.push(`${name} has grown to ${ratio.toFixed(3)} times`)
    table[name] = {
      start: show(at(start)),
      [`${settledMinute} min`]: show(at(settled)),
      end: show(at(end)),
      ratio: at(settled) === 0 ? "" : ratio.toFixed(3),
    }
  }
  return { table, grown }
}
