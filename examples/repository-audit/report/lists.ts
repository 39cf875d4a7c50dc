/** The tables and lists that the whole repository and each folder share. */
import type { LanguageCount } from "../audit/findings.ts"
import type { Ranked } from "../audit/ranking.ts"
import { cell, code } from "./escape.ts"
import { counted, grouped, share } from "./numbers.ts"

export interface RankedLists {
  readonly largest: readonly Ranked[]
  readonly longest: readonly Ranked[]
  readonly marked: readonly Ranked[]
  readonly changed: readonly Ranked[]
}

export const languageTable = (languages: readonly LanguageCount[]): readonly string[] => {
  if (languages.length === 0) return []
  const all = languages.reduce((sum, { lines }) => sum + lines, 0)
  return [
    "| Language | Files | Lines | Share of lines |",
    "| --- | ---: | ---: | ---: |",
    ...languages.map(
      ({ language, files, lines }) =>
        `| ${cell(language)} | ${grouped(files)} | ${grouped(lines)} | ${share(lines, all)} |`,
    ),
    "",
  ]
}

const ranked = (title: string, entries: readonly Ranked[], unit: (count: number) => string) =>
  entries.length === 0
    ? []
    : [
        `**${title}**`,
        "",
        ...entries.map(({ path, count }, place) => `${place + 1}. ${code(path)}: ${unit(count)}`),
        "",
      ]

/** Empty lists have no title; `length` cuts each. */
export const rankedLists = (lists: RankedLists, length: number): readonly string[] => [
  ...ranked("Largest files", lists.largest.slice(0, length), (count) => counted(count, "byte")),
  ...ranked("Longest files", lists.longest.slice(0, length), (count) => counted(count, "line")),
  ...ranked("Most TODO/FIXME markers", lists.marked.slice(0, length), (count) => counted(count, "marker")),
  ...ranked("Changed most often", lists.changed.slice(0, length), (count) => counted(count, "commit")),
]
