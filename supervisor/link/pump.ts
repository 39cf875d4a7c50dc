/**
 * Moves events from the outbox to one connection, in order, a bounded window ahead of what is acknowledged, so that
 * neither the socket's buffer nor a slow control plane makes memory grow.
 */
import type { Reach } from "../crash-points.ts"
import type { OutboxRow } from "../store/outbox.ts"
import type { UnfencedFrame } from "./dial.ts"
import type { Outbox } from "./outbox.ts"
import { readEvent } from "./unreadable.ts"

/** Events on the wire without an acknowledgement. */
const windowEvents = 512
const windowBytes = 4 * 1024 * 1024
const batchEvents = 64

export interface Pump {
  /** There may be something to send, or room to send it. */
  readonly run: () => void
  readonly acknowledged: (ack: number) => void
}

export interface PumpDeps {
  readonly outbox: Outbox
  /** Last event that the control plane has. */
  readonly received: number
  /** Last command that was applied here. */
  readonly inbound: () => number
  readonly bufferedBytes: () => number
  readonly send: (frame: UnfencedFrame) => boolean
  readonly reach: Reach
}

export const createPump = (deps: PumpDeps): Pump => {
  const { outbox, received, inbound, bufferedBytes, send, reach } = deps
  let sent = received
  let acknowledged = received

  const room = (): number =>
    bufferedBytes() > windowBytes ? 0 : Math.min(batchEvents, windowEvents - (sent - acknowledged))

  const sendRow = (row: OutboxRow): "sent" | "set_aside" | "unsent" => {
    const read = readEvent(row.body)
    if (!read.ok) {
      outbox.setAside(row, read)
      return "set_aside"
    }
    const frame = { kind: "frame", seq: row.seq, ack: inbound(), atMs: row.atMs, body: read.event } as const
    outbox.markSent(row.seq)
    if (!send(frame)) return "unsent"
    sent = row.seq
    reach("event.after_send")
    return "sent"
  }

  /** Rows behind one that was set aside have other numbers than they were read with. */
  const sendRows = (rows: readonly OutboxRow[]): "sent" | "set_aside" | "unsent" => {
    for (const row of rows) {
      const outcome = sendRow(row)
      if (outcome !== "sent") return outcome
    }
    return "sent"
  }

  const run = (): void => {
    for (;;) {
      const limit = room()
      if (limit <= 0) return
      const rows = outbox.after(sent, limit)
      if (rows.length === 0 || sendRows(rows) === "unsent") return
    }
  }

  return {
    run,
    acknowledged: (ack) => {
      acknowledged = Math.max(acknowledged, Math.min(ack, sent))
      run()
    },
  }
}
