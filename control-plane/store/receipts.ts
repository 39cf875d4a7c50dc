import type { SessionId } from "@computerd/protocol/ids"
import type { Receipt } from "../rules/entities.ts"
import { parseJson, type Sql } from "./sql.ts"

interface ReceiptRecord {
  readonly caller: string
  readonly key: string
  readonly tool: string
  readonly fingerprint: string
  readonly answer: string
  readonly created_at: number
  readonly expires_at: number | null
}

export interface Receipts {
  readonly get: (caller: string, key: string) => Receipt | undefined
  readonly add: (receipt: Receipt) => void
  /**
   * Forgets those of callers that closed before `closedBefore`, with what happened in these, and those that expired; how
   * many callers and receipts.
   */
  readonly prune: (at: { readonly now: number; readonly closedBefore: number }, limit: number) => number
}

export const receiptsOf = (sql: Sql, dropHistory: (session: SessionId) => void): Receipts => ({
  get: (caller, key) => {
    const record = sql.get<ReceiptRecord>(
      "select * from receipts where caller = $1 and key = $2",
      caller,
      key,
    )
    if (record === undefined) return undefined
    return {
      caller,
      key,
      tool: record.tool,
      fingerprint: record.fingerprint,
      answer: parseJson(record.answer),
      createdAt: record.created_at,
      expiresAt: record.expires_at,
    }
  },
  add: (receipt) => {
    sql.run(
      `insert into receipts (caller, key, tool, fingerprint, answer, created_at, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      receipt.caller,
      receipt.key,
      receipt.tool,
      receipt.fingerprint,
      JSON.stringify(receipt.answer),
      receipt.createdAt,
      receipt.expiresAt,
    )
  },
  prune: ({ now, closedBefore }, limit) => {
    const callers = sql.all<{ readonly id: SessionId }>(
      `select id from sessions where closed_at <= $1 and receipts_pruned = 0 order by closed_at limit $2`,
      closedBefore,
      limit,
    )
    for (const { id } of callers) {
      sql.run("delete from receipts where caller = $1", id)
      dropHistory(id)
      sql.run("update sessions set receipts_pruned = 1 where id = $1", id)
    }
    return callers.length + sql.run("delete from receipts where expires_at <= $1", now)
  },
})
