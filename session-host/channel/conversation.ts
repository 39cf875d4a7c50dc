/**
 * What has been said on the channel, whichever connection it went over: frames that wait for acknowledgement, the last
 * frame that was received, the acknowledgement that is owed. Keeps N1 to N3 of `protocol/numbering.ts`. Pure.
 */
import type { ChannelUp, ChannelUpFrame } from "@computerd/protocol/channel"
import { type Arrival, arrival, outboundFrames } from "@computerd/protocol/numbering"

export type UpFrame = Extract<ChannelUpFrame, { readonly kind: "frame" | "ack" }>

export class Conversation {
  readonly #outbound = outboundFrames<ChannelUp>()
  #received = 0
  #acknowledged = 0
  #ackOwed = false

  /** The last down frame that was applied. */
  get received(): number {
    return this.#received
  }

  get lastSent(): number {
    return this.#outbound.lastSeq()
  }

  /** The last up frame that the supervisor is known to have. */
  get acknowledged(): number {
    return this.#acknowledged
  }

  get unacknowledged(): number {
    return this.#outbound.size()
  }

  /** `undefined` when too many wait already. */
  say(body: ChannelUp): number | undefined {
    return this.#outbound.push(body)?.seq
  }

  /** What the supervisor lacks after frame `seq`, as it goes over the wire now. */
  after(seq: number): readonly UpFrame[] {
    const frames = this.#outbound.after(seq)
    if (frames.length > 0) this.#ackOwed = false
    return frames.map((frame) => ({ kind: "frame", ...frame, ack: this.#received }))
  }

  /** False when `seq` was never sent. */
  acknowledge(seq: number): boolean {
    if (seq > this.lastSent) return false
    this.#acknowledged = Math.max(this.#acknowledged, seq)
    this.#outbound.acknowledge(seq)
    return true
  }

  /** What to do with down frame `seq`; one that is to be applied counts as received from here on. */
  arrive(seq: number): Arrival {
    const what = arrival(this.#received, seq)
    if (what === "apply") this.#received = seq
    if (what !== "gap") this.#ackOwed = true
    return what
  }

  /** The acknowledgement to send, unless a frame has carried it. */
  takeAck(): UpFrame | undefined {
    if (!this.#ackOwed) return undefined
    this.#ackOwed = false
    return { kind: "ack", ack: this.#received }
  }
}
