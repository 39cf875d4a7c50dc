/**
 * Which Turn runs next.
 *
 * D1 Turns of a Session run in the order of their sequence, one at a time
 * D2 nothing is dispatched under a hold, to a Session that is being cancelled, or to a Computer that has no room, no
 *    supervisor or is not running
 */
import { turnData } from "./assignment.ts"
import type { Draft } from "./draft.ts"
import type { Computer, Session } from "./entities.ts"
import { isHeld } from "./holds.ts"

export const canRunTurns = (computer: Computer): boolean =>
  computer.status === "available" &&
  computer.attached &&
  computer.residency === "running" &&
  computer.desired === "running"

export const dispatch = (draft: Draft, session: Session): void => {
  if (session.status === "closed" || session.closing === "cancel") return
  const head = draft.unsettled(session.id, 1)[0]
  if (head === undefined || head.status !== "queued" || head.dispatched) return
  const computer = draft.computer(session.computerId)
  if (computer === undefined || !canRunTurns(computer) || isHeld(draft, session)) return
  draft.putTurn({ ...head, dispatched: true })
  draft.command(session.computerId, {
    type: "dispatch",
    sessionId: session.id,
    turn: turnData(draft, head),
  })
}
