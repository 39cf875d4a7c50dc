/** Pages of lists from outside. A cursor works for its own list, filters and Environment alone. */
import { ok, type Result } from "@computerd/protocol/errors"
import type { EnvironmentKey } from "@computerd/protocol/ids"
import { cursorAfter, cursorPosition, type ListIdentity } from "../cursors.ts"
import type { Given } from "../given.ts"
import { receiptCaller } from "./call.ts"

export interface ListCall<Row> {
  readonly environment: EnvironmentKey
  readonly name: string
  readonly filters: unknown
  readonly cursor: string | undefined
  readonly limit: number
  readonly read: (after: string | null, limit: number) => readonly Row[]
  readonly position: (row: Row) => string
}

export interface Page<Row> {
  readonly rows: readonly Row[]
  readonly nextCursor?: string
}

/** Reads one row more than the page holds: what is left over tells that there is a next page. */
export const pageOf = <Row>(call: ListCall<Row>, given: Given): Result<Page<Row>> => {
  const list: ListIdentity = {
    caller: receiptCaller(call.environment),
    tool: call.name,
    filters: call.filters,
  }
  const after = cursorPosition(list, call.cursor, given)
  if (!after.ok) return after
  const found = call.read(after.value, call.limit + 1)
  const rows = found.slice(0, call.limit)
  const last = rows.at(-1)
  if (found.length <= call.limit || last === undefined) return ok({ rows })
  return ok({ rows, nextCursor: cursorAfter(list, call.position(last), given) })
}
