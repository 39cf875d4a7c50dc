/**
 * One Markdown report. It depends on nothing but the outcomes, whose order it keeps, so the same repository gives the
 * same bytes. It fits into a Turn's response: lists become shorter, then sections and rows go, until it does.
 */
import type { Findings } from "../audit/findings.ts"
import { code } from "./escape.ts"
import { languageTable, rankedLists } from "./lists.ts"
import { historyNote, method, sharedHistoryNote } from "./method.ts"
import { counted, density } from "./numbers.ts"
import { auditedOf, type FolderOutcome } from "./outcome.ts"
import { overview } from "./overview.ts"
import type { ReportSize } from "./size.ts"

/** A response is at most 256 KiB as JSON; the rest is for its envelope. */
const reportMaxBytes = 256 * 1024 - 1024

const everyRow = Number.MAX_SAFE_INTEGER
const sizes: readonly ReportSize[] = [
  { list: 5, sections: true, rows: everyRow },
  { list: 3, sections: true, rows: everyRow },
  { list: 1, sections: true, rows: everyRow },
  { list: 0, sections: false, rows: everyRow },
]
/** Rows of 255 bytes of name and a path of 240 characters, all escaped, stay below the limit. */
const smallest: ReportSize = { list: 0, sections: false, rows: 20 }

const section = (findings: Findings, list: number, note: string | undefined): readonly string[] => {
  const { folder, files, bytes, binaryFiles, lines, markers } = findings
  const marks = `${counted(markers, "TODO/FIXME marker")} (${density(markers, lines)} per 1,000 lines)`
  return [
    folder === "." ? "## Top level" : `## ${code(folder)}`,
    "",
    `${counted(files, "file")} (${binaryFiles} binary), ${counted(bytes, "byte")}, ${counted(lines, "line")} of text, ${marks}.`,
    "",
    ...languageTable(findings.languages),
    ...rankedLists(findings, list),
    ...(note === undefined ? [] : [note, ""]),
  ]
}

const rendered = (outcomes: readonly FolderOutcome[], size: ReportSize): string => {
  const audited = auditedOf(outcomes)
  const shared = sharedHistoryNote(audited)
  const noteOf = (findings: Findings): string | undefined =>
    shared === undefined ? historyNote(findings.history) : undefined
  const sections = audited.flatMap((findings) => section(findings, size.list, noteOf(findings)))
  const lines = [...overview(outcomes, size), ...(size.sections ? sections : []), ...method(audited)]
  return `${lines.join("\n").trimEnd()}\n`
}

const fits = (report: string): boolean => Buffer.byteLength(JSON.stringify(report)) <= reportMaxBytes

export const renderReport = (outcomes: readonly FolderOutcome[]): string => {
  for (const size of sizes) {
    const report = rendered(outcomes, size)
    if (fits(report)) return report
  }
  return rendered(outcomes, smallest)
}
