/**
 * Holds: what stops a Session's Turns from being dispatched.
 *
 * H1 an interrupt lives on the Session that was named and every descendant inherits it, later ones too
 * H2 recovery and storage pressure stay with their Session
 * H3 a release takes away exactly one hold; nobody but the system releases storage pressure; of interrupts a Session
 *    releases only its own
 */
import type { Draft } from "./draft.ts"
import type { Hold, RecoveryGap, Session } from "./entities.ts"
import { ancestors, openTree, owns } from "./family.ts"
import type { Given } from "./given.ts"
import { requestStop } from "./settle.ts"

/** Own ones first, then inherited interrupts, nearest first (H1, H2). */
export const effectiveHolds = (draft: Draft, session: Session): readonly Hold[] => [
  ...draft.holds(session.id),
  ...ancestors(draft, session).flatMap((ancestor) =>
    draft.holds(ancestor.id).filter((hold) => hold.kind === "interrupt"),
  ),
]

export const isHeld = (draft: Draft, session: Session): boolean => effectiveHolds(draft, session).length > 0

/** H3 for a Session; the operator asks `releasableByOperator`. */
export const canRelease = (draft: Draft, caller: Session, hold: Hold): boolean => {
  const session = draft.session(hold.sessionId)
  if (session === undefined || session.status === "closed" || !owns(draft, caller, session)) return false
  if (hold.kind === "interrupt") return hold.placedBy === caller.id
  return hold.kind === "recovery"
}

export const releasableByOperator = (hold: Hold): boolean => hold.kind !== "storage_pressure"

/** What a held Session was given and has not started goes back to its queue; its Computer forgets it. */
const recall = (draft: Draft, session: Session): void => {
  const head = draft.unsettled(session.id, 1)[0]
  if (head?.status === "queued" && head.dispatched) draft.putTurn({ ...head, dispatched: false })
  draft.reassign(session.id)
}

type Placing = Pick<Hold, "kind" | "placedBy" | "gap">

const place = (
  draft: Draft,
  target: { readonly session: Session; readonly hold: Placing },
  given: Given,
): Hold => {
  const placed: Hold = {
    ...target.hold,
    id: given.newId("hld"),
    sessionId: target.session.id,
    createdAt: given.now,
    releasedAt: null,
  }
  draft.addHold(placed)
  return placed
}

/** Holds the tree and asks what runs in it to stop. */
export const interrupt = (
  draft: Draft,
  target: { readonly session: Session; readonly placedBy: Session | null },
  given: Given,
): Hold => {
  const placedBy = target.placedBy?.id ?? null
  const hold = place(
    draft,
    { session: target.session, hold: { kind: "interrupt", placedBy, gap: null } },
    given,
  )
  for (const session of openTree(draft, target.session)) {
    const head = draft.unsettled(session.id, 1)[0]
    if (head?.status === "running") requestStop(draft, head, "interrupted", given)
    recall(draft, session)
  }
  return hold
}

export const isolate = (
  draft: Draft,
  lost: { readonly session: Session; readonly gap: RecoveryGap },
  given: Given,
): Hold => {
  const hold: Placing = { kind: "recovery", placedBy: null, gap: lost.gap }
  const placed = place(draft, { session: lost.session, hold }, given)
  recall(draft, lost.session)
  return placed
}

/** What runs goes on; nothing new is dispatched. */
export const pressStorage = (draft: Draft, session: Session, given: Given): Hold => {
  const hold: Placing = { kind: "storage_pressure", placedBy: null, gap: null }
  const placed = place(draft, { session, hold }, given)
  recall(draft, session)
  return placed
}

/** H3; a released hold is released again without effect. */
export const release = (draft: Draft, hold: Hold, given: Given): void => {
  if (hold.releasedAt !== null) return
  draft.putHold({ ...hold, releasedAt: given.now })
  const session = draft.session(hold.sessionId)
  if (session === undefined) return
  if (hold.kind === "recovery") draft.putSession({ ...session, losses: 0 })
  const affected = hold.kind === "interrupt" ? openTree(draft, session) : [session]
  for (const one of affected) draft.reassign(one.id)
}

/** What the system placed for want of disk, the system takes away when there is room. */
export const relieveStorage = (draft: Draft, session: Session, given: Given): void => {
  for (const hold of draft.holds(session.id))
    if (hold.kind === "storage_pressure") release(draft, hold, given)
}
