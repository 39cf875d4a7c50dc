/** The whole repository, added up from its folders. A folder that failed adds nothing. */
import type { Findings, LanguageCount } from "../audit/findings.ts"
import { byCodeUnit, mergeRanked, type Ranked } from "../audit/ranking.ts"
import { listSize } from "../audit/tally.ts"

export interface Totals {
  readonly files: number
  readonly binaryFiles: number
  readonly bytes: number
  readonly lines: number
  readonly markers: number
  readonly links: number
  readonly repositories: number
  readonly special: number
  readonly missing: number
  readonly unreadable: number
  readonly languages: readonly LanguageCount[]
  readonly largest: readonly Ranked[]
  readonly longest: readonly Ranked[]
  readonly marked: readonly Ranked[]
  readonly changed: readonly Ranked[]
}

const mergeLanguages = (all: readonly Findings[]): readonly LanguageCount[] => {
  const merged = new Map<string, LanguageCount>()
  for (const { language, files, lines } of all.flatMap((findings) => findings.languages)) {
    const before = merged.get(language)
    merged.set(language, {
      language,
      files: files + (before?.files ?? 0),
      lines: lines + (before?.lines ?? 0),
    })
  }
  return [...merged.values()].sort((a, b) => b.lines - a.lines || byCodeUnit(a.language, b.language))
}

export const totalsOf = (all: readonly Findings[]): Totals => {
  const sum = (value: (findings: Findings) => number): number =>
    all.reduce((total, findings) => total + value(findings), 0)
  const top = (list: (findings: Findings) => readonly Ranked[]): readonly Ranked[] =>
    mergeRanked(all.map(list), listSize)
  return {
    files: sum((findings) => findings.files),
    binaryFiles: sum((findings) => findings.binaryFiles),
    bytes: sum((findings) => findings.bytes),
    lines: sum((findings) => findings.lines),
    markers: sum((findings) => findings.markers),
    links: sum((findings) => findings.apart.links),
    repositories: sum((findings) => findings.apart.repositories),
    special: sum((findings) => findings.apart.special),
    missing: sum((findings) => findings.apart.missing),
    unreadable: sum((findings) => findings.apart.unreadable),
    languages: mergeLanguages(all),
    largest: top((findings) => findings.largest),
    longest: top((findings) => findings.longest),
    marked: top((findings) => findings.marked),
    changed: top((findings) => findings.changed),
  }
}
