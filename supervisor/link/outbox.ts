/**
 * The durable outbox: events for the control plane, numbered inside the transaction of the change they report, sent
 * in order and kept until they are acknowledged (N1).
 *
 * O1 a lifecycle event is always accepted; output is refused first, so that room for lifecycle remains
 * O2 refused output leaves a mark in the Turn's output that says how much is missing
 * O3 numbering follows what the control plane has: after a store or a control plane lost its last entries, the
 *    events that it lacks are numbered on from there, and none is mistaken for an older one
 */
import { utf8Bytes } from "@computerd/protocol/content"
import type { TurnId } from "@computerd/protocol/ids"
import { unacknowledgedFramesMax } from "@computerd/protocol/limits"
import type { LinkEvent } from "@computerd/protocol/link"
import type { Journal } from "../journal.ts"
import type { Clock } from "../ports.ts"
import type { Store } from "../store/open.ts"
import { type OutboxRow, outboxTable } from "../store/outbox.ts"

/** What a long outage may keep of output; a fifth of the frames stays free for lifecycle (O1). */
export const outputEventsMax = (unacknowledgedFramesMax * 4) / 5
export const outputMaxBytes = 32 * 1024 * 1024

export interface Outbox {
  /** Must be called inside the transaction of the state change. */
  readonly push: (event: LinkEvent) => void
  readonly after: (seq: number, limit: number) => readonly OutboxRow[]
  /** The highest number that has been on the wire. */
  readonly markSent: (seq: number) => void
  readonly acknowledge: (ack: number) => void
  /** `received` is the last event that the control plane applied, as `attached` says (O3). Inside a transaction. */
  readonly align: (received: number) => void
  readonly unacknowledged: () => number
}

export interface OutboxDeps {
  readonly store: Store
  readonly clock: Clock
  readonly journal: Journal
  /** New events have been committed. */
  readonly pushed: () => void
}

const turnEnding = (event: LinkEvent): TurnId | undefined =>
  event.type === "turn_settled" || event.type === "process_exited" ? event.turnId : undefined

export const createOutbox = ({ store, clock, journal, pushed }: OutboxDeps): Outbox => {
  const table = outboxTable(store.database)
  const missingBytes = new Map<TurnId, number>()
  // Whatever an earlier run stored, it may have sent.
  let sent = table.totals().lastSeq

  const append = (event: LinkEvent): void => {
    const outputBytes = event.type === "turn_output" ? utf8Bytes(event.text) : 0
    const seq = table.totals().lastSeq + 1
    table.push({ seq, atMs: clock.wallMs(), body: JSON.stringify(event), outputBytes })
    store.afterCommit(pushed)
  }

  const outputFits = (bytes: number): boolean => {
    const { events, outputBytes } = table.totals()
    return events < outputEventsMax && outputBytes + bytes <= outputMaxBytes
  }

  const mark = (event: Extract<LinkEvent, { type: "turn_output" }>, bytes: number): void =>
    append({
      ...event,
      text: `\n[${bytes} bytes of output were dropped: the control plane was out of reach]\n`,
    })

  const pushOutput = (event: Extract<LinkEvent, { type: "turn_output" }>): void => {
    const bytes = utf8Bytes(event.text)
    const missing = missingBytes.get(event.turnId)
    if (!outputFits(bytes)) {
      if (missing === undefined)
        journal.record({ event: "output_refused", sessionId: event.sessionId, turnId: event.turnId })
      missingBytes.set(event.turnId, (missing ?? 0) + bytes)
      return
    }
    if (missing !== undefined) mark(event, missing)
    missingBytes.delete(event.turnId)
    append(event)
  }

  const markEnding = (event: LinkEvent): void => {
    const turnId = turnEnding(event)
    const missing = turnId === undefined ? undefined : missingBytes.get(turnId)
    if (turnId === undefined || missing === undefined || !("generation" in event)) return
    const { sessionId, generation } = event
    mark({ type: "turn_output", sessionId, generation, turnId, text: "" }, missing)
    missingBytes.delete(turnId)
  }

  return {
    push: (event) => {
      if (event.type === "turn_output") {
        pushOutput(event)
        return
      }
      markEnding(event)
      append(event)
    },
    after: table.after,
    markSent: (seq) => {
      sent = Math.max(sent, seq)
    },
    acknowledge: (ack) => table.removeThrough(Math.min(ack, sent)),
    align: (received) => {
      table.removeThrough(Math.min(received, sent))
      const { lastSeq, events } = table.totals()
      const shift = received - (lastSeq - events)
      if (shift === 0) return
      table.renumber(0, shift)
      sent += shift
      journal.record({ event: "events_renumbered", received, shift, pending: events })
    },
    unacknowledged: () => table.totals().events,
  }
}
