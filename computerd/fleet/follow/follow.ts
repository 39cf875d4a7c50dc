/** Follows a tree of Sessions and shows it, until its root is closed, a Turn has settled, or a signal comes. */
import type { SessionEvent, SessionHandle } from "@helmr/sdk"
import { writeOut } from "../../output.ts"
import { showWork } from "../../view/show.ts"
import type { FleetDeps } from "../deps.ts"
import type { Past } from "./past.ts"
import { createPicture } from "./picture.ts"

export interface Following {
  readonly session: SessionHandle
  readonly past: Past
  /** Ends when this one has settled; absent: when the root is closed. */
  readonly turnId: string | undefined
  readonly json: boolean
}

const isLast = (event: SessionEvent, { session, turnId }: Following): boolean =>
  event.type === "turn_settled" && event.sessionId === session.id && event.turnId === turnId

type Show = (event: SessionEvent) => void | Promise<void>

const each = async (following: Following, signal: AbortSignal, show: Show): Promise<void> => {
  const { session, past } = following
  for await (const event of session.events.stream({ after: past.after, tree: true, signal })) {
    await show(event)
    if (isLast(event, following)) return
  }
}

/** Rejects as the stream does; an interrupt ends it like everything else. */
export const follow = async (following: Following, deps: FleetDeps): Promise<void> => {
  const { interrupt, ports, out } = deps
  const { stop } = interrupt
  if (following.json) return each(following, stop, (event) => writeOut(out, `${JSON.stringify(event)}\n`))
  const picture = createPicture(following.past.tree, ports)
  const view = showWork(picture.subject, { ...deps, interrupted: () => stop.aborted })
  try {
    await each(following, stop, (event) => picture.add(event, view))
  } finally {
    view.close()
  }
}
