/** What shows the work while it goes on. */
export interface View {
  /** A line that stays. */
  readonly note: (line: string) => void
  /** Shows the last state and leaves the terminal as it was found. */
  readonly close: () => void
}
