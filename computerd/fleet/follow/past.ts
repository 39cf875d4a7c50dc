/** What happened in a tree of Sessions before it is followed: known, so that what comes is understood, but not shown again. */
import type { Events } from "@helmr/sdk"
import { emptyTree, type Tree, treeAfter } from "./tree.ts"

export interface Past {
  readonly tree: Tree
  /** The cursor where following begins; absent: the beginning. */
  readonly after: string | undefined
}

export const noPast: Past = { tree: emptyTree, after: undefined }

const pageMax = 100

/** Up to the event with this cursor, or up to now. */
export const readPast = async (
  { events }: { readonly events: Pick<Events, "list"> },
  until: string | "now",
): Promise<Past> => {
  let past = noPast
  for (;;) {
    const { after } = past
    const page = await events.list({ after, tree: true, limit: pageMax })
    const end = page.events.findIndex(({ cursor }) => cursor === until)
    const seen = end === -1 ? page.events : page.events.slice(0, end + 1)
    past = { tree: seen.reduce(treeAfter, past.tree), after: page.nextCursor ?? after }
    if (end !== -1) return { ...past, after: until }
    // A cursor that was not met is judged by the stream.
    if (!page.more) return until === "now" ? past : { ...past, after: until }
  }
}
