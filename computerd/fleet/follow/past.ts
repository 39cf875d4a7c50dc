/** What happened in a tree of Sessions before it is followed: known, so that what comes is understood, but not shown again. */
import type { Events, SessionEvent } from "@helmr/sdk"
import { emptyTree, type Tree, treeAfter } from "./tree.ts"

export interface Past {
  readonly tree: Tree
  /** The cursor where following begins; absent: the beginning. */
  readonly after: string | undefined
}

export const noPast: Past = { tree: emptyTree, after: undefined }

/** With the event of a cursor, or before a Turn was queued. */
export type PastEnd =
  | { readonly kind: "event"; readonly cursor: string }
  | { readonly kind: "turn"; readonly turnId: string }

const pageMax = 100

/** How many of these events are of the past when it ends among them. */
const knownOf = (events: readonly SessionEvent[], end: PastEnd): number | undefined => {
  const at = events.findIndex((event) =>
    end.kind === "event"
      ? event.cursor === end.cursor
      : event.type === "turn_queued" && event.turnId === end.turnId,
  )
  if (at === -1) return undefined
  return end.kind === "event" ? at + 1 : at
}

export const readPast = async (
  { events }: { readonly events: Pick<Events, "list"> },
  end: PastEnd,
): Promise<Past> => {
  let past = noPast
  for (;;) {
    const { after } = past
    const page = await events.list({ after, tree: true, limit: pageMax })
    const known = knownOf(page.events, end)
    const seen = page.events.slice(0, known)
    const tree = seen.reduce(treeAfter, past.tree)
    if (known !== undefined) return { tree, after: seen.at(-1)?.cursor ?? after }
    past = { tree, after: page.nextCursor ?? after }
    // A cursor that was not met is judged by the stream.
    if (!page.more) return end.kind === "event" ? { tree, after: end.cursor } : past
  }
}
