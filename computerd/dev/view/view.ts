/** What shows the work while it goes on. */
export interface View {
  /** A line that stays. */
  readonly note: (line: string) => void
  /** A line that an Agent wrote; `source` says which. */
  readonly output: (source: string, line: string) => void
  /** Shows the last state and leaves the terminal as it was found. */
  readonly close: () => void
}

/** How a line of output looks, apart from everything else. */
export const outputLine = (source: string, line: string): string => `${source} | ${line}`
