/**
 * When a Session is idle and when it closes for that.
 *
 * I1 idle: open, without a hold of its own, nothing running, nothing that waits to run; Turns under an inherited
 *    interrupt do not wait to run
 * I2 while it has children that are not closed it does not close, though its time counts
 */

import type { Draft } from "./draft.ts"
import { closingDue } from "./due.ts"
import type { Session } from "./entities.ts"
import type { Given } from "./given.ts"
import { isHeld } from "./holds.ts"

/** I1 */
const isIdle = (draft: Draft, session: Session): boolean => {
  if (session.status !== "open" || draft.holds(session.id).length > 0) return false
  const head = draft.unsettled(session.id, 1)[0]
  if (head === undefined) return true
  return head.status === "queued" && isHeld(draft, session)
}

/** The Session with its idle clock set; the same object when nothing about it changes. */
export const withIdleClock = (draft: Draft, session: Session, given: Given): Session => {
  const idleSince = isIdle(draft, session) ? (session.idleSince ?? given.now) : null
  const blocked = idleSince === null || draft.openChildren(session.id, 1).length > 0
  const idleDue = blocked ? null : closingDue(idleSince, session.closeAfterIdleMs)
  if (idleSince === session.idleSince && idleDue === session.idleDue) return session
  return { ...session, idleSince, idleDue }
}
