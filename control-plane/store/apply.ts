/** Writes what a decision changed. Runs inside the transaction in which the decision read. */
import type { Changes, Written } from "../rules/changes.ts"
import type { Table } from "./table.ts"
import type { Tables } from "./tables.ts"

const write = <Row>(table: Table<Row>, rows: readonly Written<Row>[]): void => {
  for (const { before, row } of rows) {
    if (before === undefined) table.insert(row)
    else table.update(row)
  }
}

/** Rows that others refer to come first. */
export const apply = (tables: Tables, changes: Changes): void => {
  for (const deployment of changes.deployments) tables.deployments.add(deployment)
  write(tables.computers, changes.computers)
  write(tables.sessions, changes.sessions)
  write(tables.turns, changes.turns)
  for (const [turn, input] of changes.inputs) tables.turns.addInput(turn, input)
  for (const [turn, payload] of changes.payloads) tables.turns.putPayload(turn, payload)
  write(tables.holds, changes.holds)
  for (const message of changes.messages) tables.conversation.addMessage(message)
  for (const { before, row } of changes.questions) {
    if (before === undefined) tables.conversation.addQuestion(row, changes.questionTexts.get(row.id) ?? [])
    else tables.conversation.putQuestion(row)
  }
  for (const answer of changes.answers) tables.conversation.putAnswer(answer)
  for (const receipt of changes.receipts) tables.receipts.add(receipt)
  for (const { computerId, storeId, received } of changes.cursors)
    tables.links.putCursor(computerId, storeId, received)
  for (const computerId of changes.voidCommands)
    tables.links.dropCommands(computerId, Number.MAX_SAFE_INTEGER)
  for (const command of changes.commands) tables.links.addCommand(command)
}
