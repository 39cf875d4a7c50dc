/** Rows of a table by Session, read once and kept; a rollback makes them be read again. */
import type { SessionId } from "@computerd/protocol/ids"
import type { Transactions } from "./transactions.ts"

export const cachedRows = <Row extends { readonly sessionId: SessionId }>(
  transactions: Transactions,
  read: () => readonly Row[],
): (() => Map<SessionId, Row>) => {
  let cache: Map<SessionId, Row> | undefined
  transactions.onRollback(() => {
    cache = undefined
  })
  return () => {
    cache ??= new Map(read().map((row) => [row.sessionId, row]))
    return cache
  }
}
