/**
 * The numbering that both links share. Each side numbers its frames from 1, keeps them until the peer
 * acknowledges, and applies what it receives once and in order. Pure: the owner moves the bytes and, where frames
 * must outlive the process, stores them.
 *
 * N1 a frame leaves the buffer only when the peer has acknowledged it
 * N2 a frame is applied once: a repeat is acknowledged again and dropped
 * N3 frames are applied in order: a gap ends the connection, and the replay on the next one fills it
 */
import { unacknowledgedFramesMax } from "./limits.ts"

export interface Numbered<Body> {
  readonly seq: number
  readonly body: Body
}

export interface OutboundFrames<Body> {
  /** Numbers and keeps a frame; `undefined` when the buffer is full. */
  readonly push: (body: Body) => Numbered<Body> | undefined
  /** Forgets everything up to and including `ack`. */
  readonly acknowledge: (ack: number) => void
  /** What the peer lacks, in order. */
  readonly after: (received: number) => readonly Numbered<Body>[]
  readonly lastSeq: () => number
  readonly size: () => number
}

export const outboundFrames = <Body>(
  start: { readonly lastSeq: number; readonly pending: readonly Numbered<Body>[] } = {
    lastSeq: 0,
    pending: [],
  },
  max: number = unacknowledgedFramesMax,
): OutboundFrames<Body> => {
  let seq = start.lastSeq
  let pending = [...start.pending]
  return {
    push: (body) => {
      if (pending.length >= max) return undefined
      seq += 1
      const frame = { seq, body }
      pending.push(frame)
      return frame
    },
    acknowledge: (ack) => {
      const kept = pending.findIndex((frame) => frame.seq > ack)
      if (kept === -1) pending = []
      else if (kept > 0) pending = pending.slice(kept)
    },
    after: (received) => pending.filter((frame) => frame.seq > received),
    lastSeq: () => seq,
    size: () => pending.length,
  }
}

export type Arrival = "apply" | "repeat" | "gap"

/** What to do with frame `seq` when everything up to `received` has been applied (N2, N3). */
export const arrival = (received: number, seq: number): Arrival => {
  if (seq <= received) return "repeat"
  return seq === received + 1 ? "apply" : "gap"
}
