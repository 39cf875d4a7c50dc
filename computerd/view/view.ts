/** What is shown, and what shows it while it goes on. */

export interface Screen {
  readonly columns: number
  readonly rows: number
}

export interface FrameInput {
  readonly screen: Screen
  readonly startedAtMs: number
  /** The work is being ended. */
  readonly interrupted: boolean
}

export interface Subject {
  /** The whole as it is now, cut to the screen. */
  readonly frame: (input: FrameInput) => readonly string[]
  /** Tells each thing that happens as one line. */
  readonly onLine: (listener: (line: string) => void, startedAtMs: number) => () => void
  /** How a moment stands before a line. */
  readonly stamp: (atMs: number, startedAtMs: number) => string
}

export interface View {
  /** A line that stays. */
  readonly note: (line: string) => void
  /** A line that an Agent wrote; `source` says which. Without `atMs` it was just now. */
  readonly output: (source: string, line: string, atMs?: number) => void
  /** Resolves once there is room for more. */
  readonly flushed: () => Promise<void>
  /** Shows the last state and leaves the terminal as it was found. */
  readonly close: () => void
}

/** How a line of output looks, apart from everything else. */
export const outputLine = (source: string, line: string): string => `${source} | ${line}`
