/** The head of the report: what is missing, the totals, and one row for each folder. */
import type { Findings } from "../audit/findings.ts"
import { listSize } from "../audit/tally.ts"
import { cell, code } from "./escape.ts"
import { languageTable, rankedLists } from "./lists.ts"
import { sharedHistoryNote } from "./method.ts"
import { counted, density, grouped } from "./numbers.ts"
import { auditedOf, type FolderOutcome, failedOf } from "./outcome.ts"
import type { ReportSize } from "./size.ts"
import { type Totals, totalsOf } from "./totals.ts"

/** Of a failure's message, which can be as long as its author liked. */
const messageMax = 200

const folderName = (folder: string): string => (folder === "." ? "top level" : code(folder))

const failures = (outcomes: readonly FolderOutcome[], rowsMax: number): readonly string[] => {
  const failed = failedOf(outcomes)
  if (failed.length === 0) return []
  const rows = failed.slice(0, rowsMax).map(({ folder, code: reason, message }) => {
    const detail = message === null ? "" : `: ${code(message.slice(0, messageMax))}`
    return `- ${folderName(folder)} failed with ${code(reason)}${detail}`
  })
  const parts = counted(outcomes.length, "part")
  return [`**Not complete:** ${grouped(failed.length)} of ${parts} could not be audited.`, "", ...rows, ""]
}

type TotalsRow = readonly [name: string, value: string]

const always = (totals: Totals): readonly TotalsRow[] => [
  ["Files", grouped(totals.files)],
  ["of them binary", grouped(totals.binaryFiles)],
  ["Bytes", grouped(totals.bytes)],
  ["Lines of text", grouped(totals.lines)],
  ["TODO/FIXME markers", grouped(totals.markers)],
  ["TODO/FIXME markers per 1,000 lines", density(totals.markers, totals.lines)],
]

const whereThereAreSome = (totals: Totals): readonly TotalsRow[] => {
  const counts = [
    ["Symbolic links, not followed", totals.links],
    ["Repositories inside this one, not audited", totals.repositories],
    ["Special files, not read", totals.special],
    ["Tracked by git, but not in the working tree", totals.missing],
    ["Unreadable files and folders", totals.unreadable],
  ] as const
  return counts.filter(([, count]) => count > 0).map(([name, count]) => [name, grouped(count)])
}

const totalsTable = (totals: Totals): readonly string[] => [
  "| Total | |",
  "| --- | ---: |",
  ...[...always(totals), ...whereThereAreSome(totals)].map(([name, value]) => `| ${name} | ${value} |`),
  "",
]

const folderRow = ({ folder, files, lines, languages, markers, changed }: Findings): string => {
  const [most] = changed
  const often = most === undefined ? "–" : `${cell(code(most.path))} (${grouped(most.count)})`
  const language = cell(languages[0]?.language ?? "–")
  return `| ${cell(folderName(folder))} | ${grouped(files)} | ${grouped(lines)} | ${language} | ${density(markers, lines)} | ${often} |`
}

const folderTable = (all: readonly Findings[], rowsMax: number): readonly string[] => {
  const omitted = all.length - rowsMax
  return [
    "## Folders",
    "",
    "| Folder | Files | Lines | Main language | TODO/FIXME per 1,000 lines | Changed most often |",
    "| --- | ---: | ---: | --- | ---: | --- |",
    ...all.slice(0, rowsMax).map(folderRow),
    "",
    ...(omitted > 0
      ? [`${counted(omitted, "more folder is", "more folders are")} in the totals only.`, ""]
      : []),
  ]
}

const sharedNote = (audited: readonly Findings[]): readonly string[] => {
  const note = sharedHistoryNote(audited)
  return note === undefined ? [] : [note, ""]
}

export const overview = (outcomes: readonly FolderOutcome[], size: ReportSize): readonly string[] => {
  const audited = auditedOf(outcomes)
  const totals = totalsOf(audited)
  return [
    "# Repository audit",
    "",
    ...failures(outcomes, size.rows),
    ...totalsTable(totals),
    "## Languages",
    "",
    ...(totals.languages.length === 0 ? ["There is no text.", ""] : languageTable(totals.languages)),
    ...folderTable(audited, size.rows),
    ...(size.sections ? [] : ["There are too many folders for a section on each.", ""]),
    "## Across the repository",
    "",
    ...sharedNote(audited),
    ...rankedLists(totals, size.sections ? listSize : 5),
  ]
}
