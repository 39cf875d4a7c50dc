/** As many rows of a list as were asked for, over as many pages as they take. */
import { apiPageMax } from "@computerd/protocol/api/limits"

interface Page {
  readonly nextCursor?: string | undefined
}

export interface Gathered<Row> {
  readonly rows: readonly Row[]
  /** There are more than were asked for. */
  readonly more: boolean
}

export interface PageAsked {
  readonly limit: number
  readonly cursor: string | undefined
}

export const gather = async <Answer extends Page, Row>(
  limit: number,
  read: (asked: PageAsked) => Promise<Answer>,
  rowsOf: (answer: Answer) => readonly Row[],
): Promise<Gathered<Row>> => {
  const rows: Row[] = []
  let cursor: string | undefined
  do {
    const page = await read({ limit: Math.min(apiPageMax, limit - rows.length), cursor })
    rows.push(...rowsOf(page))
    cursor = page.nextCursor
  } while (cursor !== undefined && rows.length < limit)
  return { rows, more: cursor !== undefined }
}
