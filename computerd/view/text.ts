/** Short texts for people: durations, ids, and foreign text that must not steer a terminal. */
import type { SessionStatus } from "@computerd/protocol/content"

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** `0.4s`, `12.3s`, `2m 05s`, `1h 02m`. */
export const elapsed = (ms: number): string => {
  const shown = Math.max(0, ms)
  if (shown < minute) return `${(Math.floor(shown / 100) / 10).toFixed(1)}s`
  if (shown < hour)
    return `${Math.floor(shown / minute)}m ${String(Math.floor((shown % minute) / second)).padStart(2, "0")}s`
  return `${Math.floor(shown / hour)}h ${String(Math.floor((shown % hour) / minute)).padStart(2, "0")}m`
}

/** The kind and the random end of an id: enough to tell apart what is on one screen. */
export const shortId = (id: string): string => {
  const kind = id.slice(0, id.indexOf("_") + 1)
  return `${kind}…${id.slice(-8)}`
}

export const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`

export type ProcessState = "none" | "starting" | "ready"

const processWords: Readonly<Record<ProcessState, string>> = {
  none: "no process",
  starting: "process starting",
  ready: "process ready",
}

/** An open Session is what its process is. */
export const sessionWords = (status: SessionStatus, process: ProcessState): string =>
  status === "open" ? processWords[process] : status

/** Of an error whose message may be absent. */
export const errorText = ({
  code,
  message,
}: {
  readonly code: string
  readonly message?: string | undefined
}): string => (message === undefined ? code : `${code}: ${message}`)

/** One line without controls, whatever a program wrote. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim()

/** Lines stay lines and emoji stay whole, but nothing in them can move a cursor or turn the direction of reading. */
export const harmless = (text: string): string =>
  text.replaceAll("\r\n", "\n").replace(/(?![\n\t])\p{Cc}|\p{Bidi_Control}/gu, " ")

/** Cut to what a line of the terminal holds. */
export const fitted = (line: string, columns: number): string => {
  if (Bun.stringWidth(line) <= columns) return line
  let kept = ""
  let width = 0
  for (const character of line) {
    width += Bun.stringWidth(character)
    if (width > columns - 1) break
    kept += character
  }
  return `${kept}…`
}
