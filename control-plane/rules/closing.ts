/**
 * The end of a Session.
 *
 * C1 a closing Session admits nothing; what can run drains, what is held is cancelled
 * C2 its children are sealed once it has no Turn left, and it is closed after them
 * C3 a cancelled Session runs nothing more: what is queued is cancelled, what runs is asked to stop
 */
import type { Draft } from "./draft.ts"
import type { Session } from "./entities.ts"
import { openTree } from "./family.ts"
import type { Given } from "./given.ts"
import { isHeld } from "./holds.ts"
import { cancelQuestion, cancelQueued, requestStop } from "./settle.ts"
import { everything } from "./state.ts"

export const beginClosing = (draft: Draft, session: Session, mode: "close" | "cancel"): void => {
  if (session.status === "closed" || session.closing === "cancel" || session.closing === mode) return
  draft.putSession({ ...session, status: "closing", closing: mode, idleSince: null, idleDue: null })
  for (const question of draft.openQuestions(session.id)) {
    cancelQuestion(draft, question, "The Session is closing; nobody will answer.")
  }
  draft.reassign(session.id)
}

/** C3 for a whole tree at once: children do not wait for their parent. */
export const cancelTree = (draft: Draft, session: Session): void => {
  for (const one of openTree(draft, session)) beginClosing(draft, one, "cancel")
}

/** C1, C3 */
const dropWork = (draft: Draft, session: Session, given: Given): void => {
  const cancelled = session.closing === "cancel"
  if (!cancelled && !isHeld(draft, session)) return
  for (const turn of draft.unsettled(session.id, everything)) {
    if (turn.status === "queued") cancelQueued(draft, turn, given)
    else if (cancelled) requestStop(draft, turn, "cancelled", given)
  }
}

const close = (draft: Draft, session: Session, given: Given): void => {
  draft.command(session.computerId, {
    type: "release",
    sessionId: session.id,
    graceMs: given.settings.stopGraceMs,
  })
  draft.takeReassigned(session.id)
  draft.putSession({
    ...session,
    status: "closed",
    process: "none",
    idleSince: null,
    idleDue: null,
    closedAt: given.now,
  })
  draft.touchComputer(session.computerId)
  if (session.parentId !== null) draft.touch(session.parentId)
}

/** Takes a closing Session as far as it can go now (C1–C3). */
export const advanceClosing = (draft: Draft, session: Session, given: Given): void => {
  dropWork(draft, session, given)
  if (draft.unsettled(session.id, 1).length > 0) return
  const children = draft.openChildren(session.id, everything)
  for (const child of children) beginClosing(draft, child, "close")
  if (children.length === 0) close(draft, session, given)
}
