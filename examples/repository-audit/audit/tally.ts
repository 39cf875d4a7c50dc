/** Adds up the files of one folder. The order in which they come does not matter. */
import type { Findings, LanguageCount } from "./findings.ts"
import { languageOf } from "./languages.ts"
import type { Measured } from "./measure.ts"
import { byCodeUnit, type Ranked, ranking } from "./ranking.ts"

/** Entries of each list that an auditor reports. */
export const listSize = 10
/** Longer paths lose their middle, so that a report of odd names stays bounded. */
const shownPathMax = 240

export const shownPath = (path: string): string => {
  const points = [...path]
  if (points.length <= shownPathMax) return path
  const half = (shownPathMax - 1) / 2
  return `${points.slice(0, Math.floor(half)).join("")}…${points.slice(-Math.ceil(half)).join("")}`
}

interface LanguageTotal {
  files: number
  lines: number
}

type TallyTotals = Omit<Findings, "folder" | "selectedBy" | "history">

export interface Tally {
  readonly add: (path: string, measured: Measured, changes: number) => void
  readonly totals: () => TallyTotals
}

const apartField = {
  link: "links",
  folder: "repositories",
  special: "special",
  missing: "missing",
  unreadable: "unreadable",
} as const

const shown = (ranked: readonly Ranked[]): readonly Ranked[] =>
  ranked.map(({ path, count }) => ({ path: shownPath(path), count }))

/** Most lines first. */
const languageRows = (languages: ReadonlyMap<string, LanguageTotal>): readonly LanguageCount[] =>
  [...languages]
    .map(([language, { files, lines }]) => ({ language, files, lines }))
    .sort((a, b) => b.lines - a.lines || byCodeUnit(a.language, b.language))

export const tally = (unreadableFolders: number): Tally => {
  const sums = { files: 0, bytes: 0, binaryFiles: 0, lines: 0, markers: 0 }
  const apart = { links: 0, repositories: 0, special: 0, missing: 0, unreadable: unreadableFolders }
  const languages = new Map<string, LanguageTotal>()
  const lists = {
    largest: ranking(listSize),
    longest: ranking(listSize),
    marked: ranking(listSize),
    changed: ranking(listSize),
  }
  const addText = (path: string, lines: number): void => {
    const language = languageOf(path)
    const total = languages.get(language) ?? { files: 0, lines: 0 }
    languages.set(language, { files: total.files + 1, lines: total.lines + lines })
  }
  return {
    add: (path, measured, changes) => {
      if (measured.kind !== "file") {
        apart[apartField[measured.kind]] += 1
        return
      }
      sums.files += 1
      sums.bytes += measured.bytes
      sums.lines += measured.lines
      sums.markers += measured.markers
      if (measured.binary) sums.binaryFiles += 1
      else addText(path, measured.lines)
      lists.largest.add({ path, count: measured.bytes })
      lists.longest.add({ path, count: measured.lines })
      lists.marked.add({ path, count: measured.markers })
      lists.changed.add({ path, count: changes })
    },
    totals: () => ({
      ...sums,
      apart: { ...apart },
      languages: languageRows(languages),
      largest: shown(lists.largest.top()),
      longest: shown(lists.longest.top()),
      marked: shown(lists.marked.top()),
      changed: shown(lists.changed.top()),
    }),
  }
}
