/** Rows in columns, for people. What the cells hold cannot steer a terminal. Pure. */
import { oneLine } from "../view/text.ts"

const gap = "  "

/** Absent cells show as a dash. */
export type Cell = string | number | null | undefined

const cellText = (cell: Cell): string =>
  cell === null || cell === undefined || cell === "" ? "-" : oneLine(String(cell))

/** `otherwise` stands for no rows at all. */
export const table = (
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  otherwise: string,
): string => {
  if (rows.length === 0) return `${otherwise}\n`
  const lines = [head, ...rows.map((row) => row.map(cellText))]
  const widths = head.map((_, column) =>
    Math.max(...lines.map((line) => Bun.stringWidth(line[column] ?? ""))),
  )
  const padded = (line: readonly string[]): string =>
    line
      .map((cell, column) => cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - Bun.stringWidth(cell))))
      .join(gap)
      .trimEnd()
  return `${lines.map(padded).join("\n")}\n`
}
