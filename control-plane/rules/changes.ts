/** What a decision changes: whole rows, applied by the store in one transaction, and what to tell afterwards. */
import type { Content } from "@computerd/protocol/content"
import type { ComputerId, MessageId, StoreId, TurnId } from "@computerd/protocol/ids"
import type { LinkCommand } from "@computerd/protocol/link"
import type {
  Computer,
  Deployment,
  Hold,
  Message,
  Question,
  QuestionAnswer,
  Receipt,
  Session,
  Turn,
  TurnPayload,
} from "./entities.ts"

/** `before` is absent for a new row. */
export interface Written<Row> {
  readonly before: Row | undefined
  readonly row: Row
}

export interface Command {
  readonly computerId: ComputerId
  readonly seq: number
  readonly body: LinkCommand
}

/** A fact that no row holds; onlookers hear of it, and the journal. */
export type Notice =
  | { readonly type: "turn_output"; readonly turn: Turn; readonly text: string }
  | { readonly type: "messages_dropped"; readonly turn: Turn; readonly messages: readonly MessageId[] }

export interface Changes {
  /** Each becomes the current one of its Environment. */
  readonly deployments: readonly Deployment[]
  readonly computers: readonly Written<Computer>[]
  readonly sessions: readonly Written<Session>[]
  readonly turns: readonly Written<Turn>[]
  readonly inputs: ReadonlyMap<TurnId, Content>
  readonly payloads: ReadonlyMap<TurnId, TurnPayload>
  readonly holds: readonly Written<Hold>[]
  readonly messages: readonly Message[]
  readonly questions: readonly Written<Question>[]
  readonly questionTexts: ReadonlyMap<string, Content>
  readonly answers: readonly QuestionAnswer[]
  readonly receipts: readonly Receipt[]
  readonly cursors: readonly {
    readonly computerId: ComputerId
    readonly storeId: StoreId
    readonly received: number
  }[]
  /** Everything pending for these Computers is void: what follows replaces it. */
  readonly voidCommands: readonly ComputerId[]
  readonly commands: readonly Command[]
  readonly notices: readonly Notice[]
}
