/** The state that rules read, from the tables. */
import type { State } from "../rules/state.ts"
import type { Tables } from "./tables.ts"

export const stateOf = (tables: Tables): State => ({
  deployment: tables.deployments.get,
  currentDeployment: tables.deployments.current,
  session: tables.sessions.get,
  sessionByKey: tables.sessions.byKey,
  openChildren: tables.sessions.openChildren,
  openSessionsOn: tables.sessions.openOn,
  turn: tables.turns.get,
  unsettled: tables.turns.unsettled,
  hasRequestedTurn: tables.turns.hasRequested,
  payload: tables.turns.payload,
  input: tables.turns.input,
  hold: tables.holds.get,
  holds: tables.holds.inForce,
  openQuestions: tables.conversation.openQuestions,
  messagesAfter: tables.conversation.messagesAfter,
  answersAfter: tables.conversation.answersAfter,
  receipt: tables.receipts.get,
  computer: tables.computers.get,
  computerByKey: tables.computers.byKey,
  cursor: tables.links.cursor,
  sessionPage: tables.sessions.page,
  computerPage: tables.computers.page,
  roomTaken: tables.computers.roomTaken,
  roomRetried: tables.computers.roomRetried,
  waitingForRoom: tables.computers.waitingForRoom,
})
