/** Reads the final state from the store of a control plane that has ended. */
import { Database } from "bun:sqlite"
import type { FinalState, Hold, Receipt, Session, Turn } from "./record.ts"

interface ReceiptRow extends Omit<Receipt, "answer"> {
  readonly answer: string
}

interface TurnRow extends Omit<Turn, "caller" | "key" | "token"> {
  readonly content: string
  readonly result: string | null
}

const turnOf = ({ content, result, ...row }: TurnRow): Turn => {
  const [part]: readonly { readonly text: string }[] = JSON.parse(content)
  const { caller, key }: { readonly caller: string; readonly key: string } = JSON.parse(part?.text ?? "{}")
  return { ...row, caller, key, token: result === null ? null : JSON.parse(result).token }
}

export const readFinalState = (file: string): FinalState => {
  const database = new Database(file, { readonly: true })
  try {
    return {
      receipts: database
        .query<ReceiptRow, []>("SELECT caller, key, tool, answer FROM receipts")
        .all()
        .map((row) => ({ ...row, answer: JSON.parse(row.answer) })),
      sessions: database.query<Session, []>("SELECT id, parent_id AS parent, status FROM sessions").all(),
      turns: database
        .query<TurnRow, []>(
          `SELECT id, session_id AS session, status, created_at AS createdAt, started_at AS startedAt,
             settled_at AS settledAt, result, content FROM turns JOIN inputs ON inputs.turn_id = turns.id`,
        )
        .all()
        .map(turnOf),
      holds: database
        .query<Hold, []>(
          `SELECT id, session_id AS session, kind, placed_by AS placedBy, created_at AS createdAt,
             released_at AS releasedAt FROM holds`,
        )
        .all(),
    }
  } finally {
    database.close()
  }
}
