/** What the links to supervisors need: credentials, event cursors, numbered commands. */
import type { ComputerId, StoreId } from "@computerd/protocol/ids"
import type { LinkCommand } from "@computerd/protocol/link"
import type { Numbered } from "@computerd/protocol/numbering"
import type { Command } from "../rules/changes.ts"
import { parseJson, type Sql } from "./sql.ts"

export interface Links {
  readonly putCredential: (computer: ComputerId, digest: string) => void
  readonly credentialOwner: (
    digest: string,
  ) => { readonly computerId: ComputerId; readonly digest: string } | undefined
  readonly cursor: (computer: ComputerId, store: StoreId) => number | undefined
  readonly putCursor: (computer: ComputerId, store: StoreId, received: number) => void
  readonly addCommand: (command: Command) => void
  readonly commandsAfter: (
    computer: ComputerId,
    seq: number,
    limit: number,
  ) => readonly Numbered<LinkCommand>[]
  readonly dropCommands: (computer: ComputerId, upTo: number) => void
}

export const linksOf = (sql: Sql): Links => ({
  putCredential: (computer, digest) => {
    sql.run(
      `insert into credentials (computer_id, digest) values ($1, $2)
       on conflict (computer_id) do update set digest = excluded.digest`,
      computer,
      digest,
    )
  },
  credentialOwner: (digest) =>
    sql.get<{ readonly computerId: ComputerId; readonly digest: string }>(
      `select computer_id as "computerId", digest from credentials where digest = $1`,
      digest,
    ),
  cursor: (computer, store) =>
    sql.get<{ readonly received: number }>(
      "select received from event_cursors where computer_id = $1 and store_id = $2",
      computer,
      store,
    )?.received,
  putCursor: (computer, store, received) => {
    sql.run(
      `insert into event_cursors (computer_id, store_id, received) values ($1, $2, $3)
       on conflict (computer_id, store_id) do update set received = excluded.received`,
      computer,
      store,
      received,
    )
  },
  addCommand: (command) => {
    sql.run(
      "insert into commands (computer_id, seq, body) values ($1, $2, $3)",
      command.computerId,
      command.seq,
      JSON.stringify(command.body),
    )
  },
  commandsAfter: (computer, seq, limit) =>
    sql
      .all<{ readonly seq: number; readonly body: string }>(
        "select seq, body from commands where computer_id = $1 and seq > $2 order by seq limit $3",
        computer,
        seq,
        limit,
      )
      .map((row) => ({ seq: row.seq, body: parseJson(row.body) })),
  dropCommands: (computer, upTo) => {
    sql.run("delete from commands where computer_id = $1 and seq <= $2", computer, upTo)
  },
})
