/** Every table of one open store. */
import { type Computers, computersOf } from "./computers.ts"
import { type Conversation, conversationOf } from "./conversation.ts"
import { type Deployments, deploymentsOf } from "./deployments.ts"
import { type History, historyOf } from "./history.ts"
import { type Holds, holdsOf } from "./holds.ts"
import { type Keys, keysOf } from "./keys.ts"
import { type Links, linksOf } from "./links.ts"
import { type Receipts, receiptsOf } from "./receipts.ts"
import { type Sessions, sessionsOf } from "./sessions.ts"
import type { Sql } from "./sql.ts"
import { type Turns, turnsOf } from "./turns.ts"

export interface Tables {
  readonly computers: Computers
  readonly conversation: Conversation
  readonly deployments: Deployments
  readonly history: History
  readonly holds: Holds
  readonly keys: Keys
  readonly links: Links
  readonly receipts: Receipts
  readonly sessions: Sessions
  readonly turns: Turns
}

export const tablesOf = (sql: Sql): Tables => {
  const history = historyOf(sql)
  return {
    computers: computersOf(sql),
    conversation: conversationOf(sql),
    deployments: deploymentsOf(sql),
    history,
    holds: holdsOf(sql),
    keys: keysOf(sql),
    links: linksOf(sql),
    receipts: receiptsOf(sql, history.drop),
    sessions: sessionsOf(sql),
    turns: turnsOf(sql, history.dropOutput),
  }
}
