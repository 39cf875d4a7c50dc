/** Follows a tree of Sessions and shows it, until its root is closed, a Turn has settled, or a signal comes. */
import type { HelmrError, SessionEvent, SessionHandle } from "@helmr/sdk"
import { readerGone, writeOut } from "../../output.ts"
import { showWork } from "../../view/show.ts"
import { oneLine } from "../../view/text.ts"
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

interface Shown {
  readonly event: (event: SessionEvent) => void | Promise<void>
  /** A line that is no event. */
  readonly note: (line: string) => void
}

/** How the following ended; only `over` is the end of what was followed. */
export type Followed = "over" | "interrupted" | "reader_gone"

const holdNote = (event: SessionEvent): string | undefined =>
  event.type === "hold_placed" && event.kind === "recovery"
    ? `computerd: waits for a person: computerd fleet resume ${event.sessionId} ${event.holdId}`
    : undefined

const each = async (
  following: Following,
  signals: { readonly stop: AbortSignal; readonly gone: AbortSignal },
  shown: Shown,
): Promise<Followed> => {
  const { session, past } = following
  const { stop, gone } = signals
  let { after } = past
  let isCut = false
  const onLost = ({ message }: HelmrError): void => {
    if (!isCut) shown.note(`computerd: not connected, trying again: ${message}`)
    isCut = true
  }
  const signal = AbortSignal.any([stop, gone])
  try {
    for await (const event of session.events.stream({ after, tree: true, signal, onLost })) {
      if (isCut) shown.note("computerd: connected again")
      isCut = false
      await shown.event(event)
      after = event.cursor
      const note = holdNote(event)
      if (note !== undefined) shown.note(note)
      if (isLast(event, following)) return "over"
    }
    if (!signal.aborted) return "over"
    return gone.aborted ? "reader_gone" : "interrupted"
  } finally {
    if (stop.aborted) {
      const from = after === undefined ? "" : ` --after ${after}`
      shown.note(`computerd: the work goes on; computerd fleet follow ${session.id}${from} shows what comes`)
    }
  }
}

/** Rejects as the stream does. */
export const follow = async (following: Following, deps: FleetDeps): Promise<Followed> => {
  const { interrupt, ports, out, err } = deps
  const { stop } = interrupt
  if (following.json) {
    const event = (one: SessionEvent) => writeOut(out, `${JSON.stringify(one)}\n`)
    const note = (line: string) => void err.write(`${oneLine(line)}\n`)
    return each(following, { stop, gone: readerGone(out) }, { event, note })
  }
  const picture = createPicture(following.past.tree, ports)
  const view = showWork(picture.subject, { ...deps, interrupted: () => stop.aborted })
  try {
    const event = (one: SessionEvent) => picture.add(one, view)
    return await each(following, { stop, gone: readerGone(err) }, { event, note: view.note })
  } finally {
    view.close()
  }
}
