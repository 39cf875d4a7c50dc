/** Lines that fit a screen. Pure. */
import { fitted } from "./text.ts"
import type { Screen } from "./view.ts"

/** The last row stays free for the cursor, the last column so that no terminal wraps. */
export const framed = (
  head: string,
  body: (room: number) => readonly string[],
  { columns, rows }: Screen,
): readonly string[] =>
  [head, ...body(Math.max(1, rows - 2))].map((line) => fitted(line, Math.max(10, columns - 1)))
