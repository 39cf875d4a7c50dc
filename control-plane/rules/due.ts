/** The moment at which a period that began at `since` is over; `null` when it never is. */
export const closingDue = (since: number, periodMs: number | null): number | null =>
  periodMs === null ? null : since + periodMs
