/**
 * Works out the consequences of a decision until there are none left: Sessions close, idle clocks start and stop,
 * Turns are dispatched, Computers get and give back room. Every decision ends with this, in its own transaction.
 */
import { assignmentOf } from "./assignment.ts"
import { advanceComputer, allot, isLimited } from "./capacity.ts"
import { advanceClosing, beginClosing } from "./closing.ts"
import { dispatch } from "./dispatch.ts"
import type { Draft } from "./draft.ts"
import type { Session } from "./entities.ts"
import type { Given } from "./given.ts"
import { withIdleClock } from "./idle.ts"

const sendAssignment = (draft: Draft, session: Session): void => {
  const assignment = assignmentOf(draft, session)
  if (assignment !== undefined) draft.command(session.computerId, { type: "assign", assignment })
}

const advanceSession = (draft: Draft, session: Session, given: Given): void => {
  const clocked = withIdleClock(draft, session, given)
  if (clocked !== session) draft.putSession(clocked)
  if (clocked.idleDue !== null && clocked.idleDue <= given.now) beginClosing(draft, clocked, "close")
  const current = draft.session(session.id) ?? session
  if (current.status === "closing") advanceClosing(draft, current, given)
  const settled = draft.session(session.id) ?? current
  if (draft.takeReassigned(session.id)) sendAssignment(draft, settled)
  dispatch(draft, settled)
  if (isLimited(session.environment, given)) draft.touchComputer(session.computerId)
}

/** Sessions first, then Computers, then room: each looks at what the ones before have decided. */
const step = (draft: Draft, given: Given): boolean => {
  const sessionId = draft.takeDirtySession()
  if (sessionId !== undefined) {
    const session = draft.session(sessionId)
    if (session !== undefined && session.status !== "closed") advanceSession(draft, session, given)
    return true
  }
  const computerId = draft.takeDirtyComputer()
  if (computerId !== undefined) {
    const computer = draft.computer(computerId)
    if (computer !== undefined) advanceComputer(draft, computer, given)
    return true
  }
  const environment = draft.takeCrowded()
  if (environment !== undefined) allot(draft, environment, given)
  return environment !== undefined
}

export const progress = (draft: Draft, given: Given): void => {
  while (step(draft, given)) {
    // Each step may bring others about.
  }
}
