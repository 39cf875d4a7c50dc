/**
 * The durable outbox: events for the control plane, numbered inside the transaction of the change they report, sent
 * in order and kept until they are acknowledged (N1).
 *
 * O1 the end of a Turn, of a process or of a Session is always accepted. Output is refused first; then whatever begins
 *    something, so that a long outage begins no more than the outbox can tell the end of
 * O2 refused output leaves a mark (`output.ts`)
 * O3 numbering follows what the control plane has: after a store or a control plane lost its last entries, the
 *    events that it lacks are numbered on from there, and none is mistaken for an older one
 * O4 an event that nobody can read is set aside and told of, and keeps no other from being sent
 */
import { utf8Bytes } from "@computerd/protocol/content"
import { CodedError, failure } from "@computerd/protocol/errors"
import { unacknowledgedFramesMax } from "@computerd/protocol/limits"
import type { LinkEvent } from "@computerd/protocol/link"
import type { Journal } from "../journal.ts"
import type { Clock } from "../ports.ts"
import type { Store } from "../store/open.ts"
import { type OutboxRow, outboxTable } from "../store/outbox.ts"
import { createOutput } from "./output.ts"
import type { Read } from "./unreadable.ts"

/** What a long outage may keep of output; a fifth of the frames stays free for lifecycle (O1). */
export const outputEventsMax = (unacknowledgedFramesMax * 4) / 5
const openingEventsMax = unacknowledgedFramesMax
/** Of output and questions together. */
export const outputMaxBytes = 32 * 1024 * 1024
/** For whoever wants to look. */
export const setAsideKept = 100

export interface Outbox {
  /** Must be called inside the transaction of the state change; throws when there is no room for it (O1). */
  readonly push: (event: LinkEvent) => void
  readonly after: (seq: number, limit: number) => readonly OutboxRow[]
  /** The highest number that has been on the wire. */
  readonly markSent: (seq: number) => void
  readonly acknowledge: (ack: number) => void
  /** `received` is the last event that the control plane applied, as `attached` says (O3). Inside a transaction. */
  readonly align: (received: number) => void
  /** O4; the row that has been next on the wire. Another event takes its number, or those behind it move up. */
  readonly setAside: (row: OutboxRow, why: Extract<Read, { readonly ok: false }>) => void
  readonly unacknowledged: () => number
  readonly countSetAside: () => number
}

export interface OutboxDeps {
  readonly store: Store
  readonly clock: Clock
  readonly journal: Journal
  /** New events have been committed. */
  readonly pushed: () => void
}

const full = (type: string): CodedError =>
  new CodedError(
    failure(
      "admission_unavailable",
      `no room for ${type}: ${openingEventsMax} events may wait for the control plane, or the disk is full; it is tried again`,
    ),
  )

/** What weighs on the limit of bytes. */
const bytesOf = (event: LinkEvent): number => {
  if (event.type === "turn_output") return utf8Bytes(event.text)
  return event.type === "question" ? utf8Bytes(JSON.stringify(event.question)) : 0
}

export const createOutbox = ({ store, clock, journal, pushed }: OutboxDeps): Outbox => {
  const table = outboxTable(store.database)

  /** What an earlier run stored it may have sent, unless it never came to send anything. */
  const beginRun = (): number => {
    const sentBefore = table.unsentAfter() ?? table.totals().lastSeq
    store.transaction(() => table.setUnsentAfter(sentBefore))
    return sentBefore
  }
  let sent = beginRun()

  const append = (event: LinkEvent): void => {
    const seq = table.totals().lastSeq + 1
    table.push({ seq, atMs: clock.wallMs(), body: JSON.stringify(event), outputBytes: bytesOf(event) })
    store.afterCommit(pushed)
  }

  const fits = (bytes: number, eventsMax: number): boolean => {
    const { events, outputBytes } = table.totals()
    return store.hasRoom() && events < eventsMax && outputBytes + bytes <= outputMaxBytes
  }

  const output = createOutput({ journal, append, fits: (bytes) => fits(bytes, outputEventsMax) })

  const pushOpening = (event: LinkEvent): void => {
    const hasRoom = event.type === "question" ? fits(bytesOf(event), openingEventsMax) : store.hasRoom()
    if (!hasRoom || table.totals().events >= openingEventsMax) throw full(event.type)
    append(event)
  }

  return {
    push: (event) => {
      switch (event.type) {
        case "turn_output":
          output.push(event)
          break
        case "process_starting":
        case "process_ready":
        case "turn_started":
        case "question":
          pushOpening(event)
          break
        // There are no more of these than of what began, and of messages that the control plane sent.
        case "turn_settled":
        case "process_exited":
        case "messages_dropped":
        case "released":
          output.ending(event)
          append(event)
          break
        default:
          event satisfies never
      }
    },
    after: table.after,
    markSent: (seq) => {
      sent = Math.max(sent, seq)
    },
    acknowledge: (ack) => store.transaction(() => table.removeThrough(Math.min(ack, sent))),
    align: (received) => {
      table.removeThrough(Math.min(received, sent))
      table.setUnsentAfter(undefined)
      const { lastSeq, events } = table.totals()
      const shift = received - (lastSeq - events)
      if (shift === 0) return
      table.renumber(0, shift)
      sent += shift
      journal.record({ event: "events_renumbered", received, shift, pending: events })
    },
    setAside: ({ seq, body }, { reason, instead }) => {
      store.transaction(() => {
        table.keepAside(seq, reason)
        table.pruneSetAside(setAsideKept)
        if (instead !== undefined) {
          table.replace(seq, JSON.stringify(instead))
          return
        }
        table.remove(seq)
        table.renumber(seq, -1)
      })
      journal.record({
        event: "event_set_aside",
        bytes: utf8Bytes(body),
        reason,
        told: instead?.type ?? null,
      })
    },
    unacknowledged: () => table.totals().events,
    countSetAside: table.countSetAside,
  }
}
