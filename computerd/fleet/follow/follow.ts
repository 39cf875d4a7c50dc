/**
 * Follows a tree of Sessions and shows it, until its root is closed, a Turn has settled, a signal comes, or nobody reads
 * what is shown any more.
 */
import type { HelmrError, SessionEvent, SessionHandle } from "@helmr/sdk"
import { writeAnswer, writeOut } from "../../output.ts"
import { showWork } from "../../view/show.ts"
import { oneLine } from "../../view/text.ts"
import type { FleetDeps } from "../deps.ts"
import { unlessAborted } from "../unless-aborted.ts"
import type { Past } from "./past.ts"
import { createPicture } from "./picture.ts"
import { readerOf } from "./reader.ts"

export interface Following {
  readonly session: SessionHandle
  readonly past: Past
  /** Ends when this one has settled; absent: when the root is closed. */
  readonly turnId: string | undefined
  readonly json: boolean
}

interface Shower {
  /** Where it shows. */
  readonly stream: NodeJS.WriteStream
  /** Resolves once there is room for more: a slow reader costs time and not memory. */
  readonly show: (event: SessionEvent) => Promise<void>
  /** A line that is no event. */
  readonly note: (line: string) => void
  readonly close: () => void
}

const inJson = ({ out, err }: FleetDeps): Shower => ({
  stream: out,
  show: (event) => writeAnswer(out, `${JSON.stringify(event)}\n`),
  note: (line) => void writeOut(err, `${oneLine(line)}\n`),
  close: () => undefined,
})

const inPicture = ({ past }: Following, deps: FleetDeps): Shower => {
  const { interrupt, ports, err } = deps
  const picture = createPicture(past.tree, ports)
  const view = showWork(picture.subject, { ...deps, interrupted: () => interrupt.stop.aborted })
  return {
    stream: err,
    show: (event) => {
      picture.add(event, view)
      return view.flushed()
    },
    note: view.note,
    close: view.close,
  }
}

const isLast = (event: SessionEvent, { session, turnId }: Following): boolean =>
  event.type === "turn_settled" && event.sessionId === session.id && event.turnId === turnId

/** Where the next one may begin. */
interface Place {
  after: string | undefined
}

/** What was lost is told once, until something is heard again. */
const connectionNotes = (note: Shower["note"]) => {
  let isLost = false
  return {
    lost: ({ message }: HelmrError): void => {
      if (!isLost) note(`computerd: not connected, trying again: ${message}`)
      isLost = true
    },
    heard: (): void => {
      if (isLost) note("computerd: connected again")
      isLost = false
    },
  }
}

/** Only a person can release a recovery hold. */
const noteHold = (event: SessionEvent, note: Shower["note"]): void => {
  if (event.type === "hold_placed" && event.kind === "recovery")
    note(`computerd: waits for a person: computerd fleet resume ${event.sessionId} ${event.holdId}`)
}

/** Only `over` is the end of what was followed. */
export type Followed = "over" | "reader_gone"

const showAll = async (following: Following, place: Place, deps: FleetDeps): Promise<Followed> => {
  const { session, turnId, json } = following
  const { stop } = deps.interrupt
  const shower = json ? inJson(deps) : inPicture(following, deps)
  const reader = readerOf(shower.stream)
  const notes = connectionNotes(shower.note)
  // How a Turn ends is said on standard output, which may have a reader when the picture has none.
  const signal = json || turnId === undefined ? AbortSignal.any([stop, reader.gone]) : stop
  const options = { after: place.after, tree: true, signal, onLost: notes.lost }
  try {
    for await (const event of session.events.stream(options)) {
      notes.heard()
      await unlessAborted(shower.show(event), stop)
      place.after = event.cursor
      noteHold(event, shower.note)
      if (isLast(event, following)) return "over"
    }
    stop.throwIfAborted()
    return signal.aborted ? "reader_gone" : "over"
  } finally {
    shower.close()
    reader.forget()
  }
}

/** Rejects as the stream does, and when a signal came. What was begun goes on then: it says how to see what comes. */
export const follow = async (following: Following, deps: FleetDeps): Promise<Followed> => {
  const { session, past, turnId } = following
  const place: Place = { after: past.after }
  try {
    return await showAll(following, place, deps)
  } catch (error) {
    const isThere = turnId !== undefined || place.after !== past.after || deps.interrupt.stop.aborted
    const from = place.after === undefined ? "" : ` --after ${place.after}`
    const line = `computerd: the work goes on; computerd fleet follow ${session.id}${from} shows what comes`
    if (isThere) await writeOut(deps.err, `${oneLine(line)}\n`)
    throw error
  }
}
