/**
 * Draws the tree in place on a terminal, several times a second and whenever the terminal changes its size. What Agents
 * write stays above it, a bounded number of lines at each time; what is beyond that is counted.
 */
import type { Ports } from "../ports.ts"
import type { Terminal } from "./terminal.ts"
import { counted, oneLine } from "./text.ts"
import { outputLine, type Subject, type View } from "./view.ts"

const periodMs = 200
const outputLinesMax = 40
const hideCursor = "\u001b[?25l"
const showCursor = "\u001b[?25h"
const clearBelow = "\u001b[0J"
const up = (rows: number): string => (rows > 0 ? `\r\u001b[${rows}A` : "\r")

/** A terminal that became narrower has wrapped what was drawn before. */
const rowsOf = (lines: readonly string[], columns: number): number =>
  lines.reduce((rows, line) => rows + Math.max(1, Math.ceil(Bun.stringWidth(line) / columns)), 0)

export interface LiveDeps {
  readonly ports: Pick<Ports, "now" | "every">
  /** Whether the work is being ended. */
  readonly interrupted: () => boolean
}

export const createLiveView = (
  subject: Pick<Subject, "frame">,
  terminal: Terminal,
  { ports, interrupted }: LiveDeps,
): View => {
  const startedAtMs = ports.now()
  let drawn: readonly string[] = []
  let written: string[] = []
  let omitted = 0
  const takeWritten = (): readonly string[] => {
    const taken = [
      ...written,
      ...(omitted === 0 ? [] : [`… ${counted(omitted, "line")} of output not shown`]),
    ]
    written = []
    omitted = 0
    return taken
  }
  const erase = (): string => {
    const { columns, rows } = terminal.size()
    // What has scrolled out of the screen cannot be reached any more.
    return `${up(Math.min(rowsOf(drawn, columns), rows - 1))}${clearBelow}`
  }
  const draw = (above: readonly string[]): void => {
    const lines = subject.frame({
      startedAtMs,
      screen: terminal.size(),
      interrupted: interrupted(),
    })
    terminal.write(`${erase()}${[...takeWritten(), ...above, ...lines].map((line) => `${line}\n`).join("")}`)
    drawn = lines
  }
  terminal.write(hideCursor)
  draw([])
  const stopTimer = ports.every(periodMs, () => draw([]))
  const stopResize = terminal.onResize(() => draw([]))
  return {
    output: (source, line) => {
      if (written.length < outputLinesMax) written.push(oneLine(outputLine(source, line)))
      else omitted += 1
    },
    note: (line) => draw([oneLine(line)]),
    // What comes between two frames is bounded.
    flushed: () => Promise.resolve(),
    close: () => {
      stopTimer()
      stopResize()
      draw([])
      // What is printed next begins on a line of its own.
      terminal.write(`${showCursor}\n`)
    },
  }
}
