/** The terminal that a live view draws on. Writing to one that has gone away is not an error of the program. */
import type { Screen } from "./view.ts"

export interface Terminal {
  readonly write: (text: string) => void
  readonly size: () => Screen
  readonly onResize: (listener: () => void) => () => void
}

const fallback: Screen = { columns: 80, rows: 24 }

const measured = (value: number | undefined, otherwise: number): number =>
  value === undefined || value <= 0 ? otherwise : value

export const terminalOf = (stream: NodeJS.WriteStream): Terminal => ({
  write: (text) => {
    stream.write(text)
  },
  size: () => ({
    columns: measured(stream.columns, fallback.columns),
    rows: measured(stream.rows, fallback.rows),
  }),
  onResize: (listener) => {
    stream.on("resize", listener)
    return () => stream.off("resize", listener)
  },
})
