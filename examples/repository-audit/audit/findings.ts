/** What the audit of one folder found: the machine result of an auditor's Turn, and how to read it back. */
import type { History } from "../history/changes.ts"
import type { Ranked } from "./ranking.ts"

export interface LanguageCount {
  readonly language: string
  readonly files: number
  readonly lines: number
}

/** What was met and not read. */
interface Apart {
  readonly links: number
  /** Other repositories inside this one, submodules among them. */
  readonly repositories: number
  /** Pipes, sockets, devices. */
  readonly special: number
  /** Tracked by git and not in the working tree. */
  readonly missing: number
  readonly unreadable: number
}

export interface Findings {
  /** A top-level folder, or `.` for the files that are in none. */
  readonly folder: string
  readonly selectedBy: "git" | "walk"
  readonly files: number
  readonly bytes: number
  readonly binaryFiles: number
  readonly lines: number
  readonly markers: number
  readonly apart: Apart
  readonly languages: readonly LanguageCount[]
  readonly largest: readonly Ranked[]
  readonly longest: readonly Ranked[]
  readonly marked: readonly Ranked[]
  readonly changed: readonly Ranked[]
  readonly history: History
}

type Fields = Readonly<Record<string, unknown>>
type Check = (value: unknown) => boolean

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const count: Check = (value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 0
const text: Check = (value) => typeof value === "string"
const flag: Check = (value) => typeof value === "boolean"
const oneOf =
  (...values: readonly string[]): Check =>
  (value) =>
    values.some((known) => known === value)
const shape =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isFields(value) && Object.entries(checks).every(([name, check]) => check(value[name]))
const list =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check)

const rankedList = list(shape({ path: text, count }))
const none = shape({ kind: oneOf("none"), reason: text })
const read = shape({ kind: oneOf("read"), commits: count, limited: flag, shallow: flag })

const findings = shape({
  folder: text,
  selectedBy: oneOf("git", "walk"),
  files: count,
  bytes: count,
  binaryFiles: count,
  lines: count,
  markers: count,
  apart: shape({ links: count, repositories: count, special: count, missing: count, unreadable: count }),
  languages: list(shape({ language: text, files: count, lines: count })),
  largest: rankedList,
  longest: rankedList,
  marked: rankedList,
  changed: rankedList,
  history: (value) => none(value) || read(value),
})

/** A result crossed a link as JSON; this says whether it is what an auditor of this program returns. */
export const isFindings = (value: unknown): value is Findings => findings(value)
