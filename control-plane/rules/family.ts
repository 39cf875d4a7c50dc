/** Who owns whom. Ownership runs over parents only; a requester owns nothing. */
import type { Draft } from "./draft.ts"
import type { Session } from "./entities.ts"
import { everything } from "./state.ts"

/** Parent, grandparent and so on, nearest first. */
export const ancestors = (draft: Draft, session: Session): readonly Session[] => {
  const found: Session[] = []
  for (let at = session.parentId; at !== null; ) {
    const parent = draft.session(at)
    if (parent === undefined) break
    found.push(parent)
    at = parent.parentId
  }
  return found
}

export const owns = (draft: Draft, owner: Session, session: Session): boolean =>
  session.rootId === owner.rootId && ancestors(draft, session).some((ancestor) => ancestor.id === owner.id)

/** The Session and its descendants that are not closed, parents before children. */
export const openTree = (draft: Draft, session: Session): readonly Session[] => {
  const tree: Session[] = session.status === "closed" ? [] : [session]
  for (let index = 0; index < tree.length; index += 1) {
    const at = tree[index]
    if (at !== undefined) tree.push(...draft.openChildren(at.id, everything))
  }
  return tree
}
