/** How much of everything a report shows. */
export interface ReportSize {
  /** Entries of each list of a folder. */
  readonly list: number
  /** Whether each folder has a section of its own. */
  readonly sections: boolean
  /** Rows of the table of folders. */
  readonly rows: number
}
