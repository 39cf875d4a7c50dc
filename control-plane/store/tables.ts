/** Every table of one open store. */
import { type Computers, computersOf } from "./computers.ts"
import { type Conversation, conversationOf } from "./conversation.ts"
import { type Deployments, deploymentsOf } from "./deployments.ts"
import { type Holds, holdsOf } from "./holds.ts"
import { type Links, linksOf } from "./links.ts"
import { type Receipts, receiptsOf } from "./receipts.ts"
import { type Sessions, sessionsOf } from "./sessions.ts"
import type { Sql } from "./sql.ts"
import { type Turns, turnsOf } from "./turns.ts"

export interface Tables {
  readonly computers: Computers
  readonly conversation: Conversation
  readonly deployments: Deployments
  readonly holds: Holds
  readonly links: Links
  readonly receipts: Receipts
  readonly sessions: Sessions
  readonly turns: Turns
}

export const tablesOf = (sql: Sql): Tables => ({
  computers: computersOf(sql),
  conversation: conversationOf(sql),
  deployments: deploymentsOf(sql),
  holds: holdsOf(sql),
  links: linksOf(sql),
  receipts: receiptsOf(sql),
  sessions: sessionsOf(sql),
  turns: turnsOf(sql),
})
