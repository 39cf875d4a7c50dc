/**
 * What to do with one frame of a Session channel. Pure: `server.ts` moves bytes and owns the store.
 *
 * CH1 nothing but `hello` is taken before the process has named its Session and generation
 * CH2 a numbered frame is applied once and in order (N2, N3 of the numbering)
 * CH3 an invalid frame is answered and stepped over, so that it cannot be replayed for ever
 */
import { type ChannelUp, type ChannelUpFrame, channelProtocol } from "@computerd/protocol/channel"
import { type Failure, failure } from "@computerd/protocol/errors"
import type { Generation, SessionId } from "@computerd/protocol/ids"
import { arrival } from "@computerd/protocol/numbering"

export type ConnectionPhase = "awaiting_hello" | "open"

/** What the store knows of the process to which the presented secret belongs. */
export interface ChannelPeer {
  readonly sessionId: SessionId
  readonly generation: Generation
  readonly received: number
  readonly sent: number
}

export type ChannelMove =
  | { readonly do: "welcome"; readonly replayAfter: number }
  | { readonly do: "reject"; readonly error: Failure }
  | { readonly do: "apply"; readonly seq: number; readonly ack: number; readonly body: ChannelUp }
  | { readonly do: "repeat"; readonly ack: number }
  | { readonly do: "acknowledge"; readonly ack: number }
  | { readonly do: "pong" }
  | { readonly do: "note_refusal"; readonly message: string }
  | { readonly do: "ignore" }
  | { readonly do: "hang_up"; readonly reason: string }

type Hello = Extract<ChannelUpFrame, { readonly kind: "hello" }>

const onHello = (peer: ChannelPeer, hello: Hello): ChannelMove => {
  if (hello.protocol !== channelProtocol)
    return {
      do: "reject",
      error: failure(
        "unsupported_protocol",
        `this supervisor speaks channel protocol ${channelProtocol}, not ${hello.protocol}: upgrade the older side`,
      ),
    }
  if (hello.sessionId !== peer.sessionId || hello.generation !== peer.generation)
    return {
      do: "reject",
      error: failure("superseded", "another process runs this Session now: end this one"),
    }
  if (hello.received > peer.sent)
    return {
      do: "reject",
      error: failure(
        "invalid_frame",
        `hello claims frame ${hello.received}, but only ${peer.sent} were ever sent: this channel cannot continue`,
      ),
    }
  return { do: "welcome", replayAfter: hello.received }
}

const onNumbered = (
  peer: ChannelPeer,
  frame: Extract<ChannelUpFrame, { readonly kind: "frame" }>,
): ChannelMove => {
  if (frame.ack > peer.sent) return { do: "hang_up", reason: `acknowledged ${frame.ack} of ${peer.sent}` }
  switch (arrival(peer.received, frame.seq)) {
    case "apply":
      return { do: "apply", seq: frame.seq, ack: frame.ack, body: frame.body }
    case "repeat":
      return { do: "repeat", ack: frame.ack }
    case "gap":
      return { do: "hang_up", reason: `frame ${frame.seq} came after ${peer.received}` }
  }
}

export const channelMove = (
  phase: ConnectionPhase,
  peer: ChannelPeer,
  frame: ChannelUpFrame,
): ChannelMove => {
  if (phase === "awaiting_hello")
    return frame.kind === "hello"
      ? onHello(peer, frame)
      : { do: "hang_up", reason: "the first frame was not hello" }
  switch (frame.kind) {
    case "hello":
      return { do: "hang_up", reason: "a second hello" }
    case "frame":
      return onNumbered(peer, frame)
    case "ack":
      return frame.ack > peer.sent
        ? { do: "hang_up", reason: `acknowledged ${frame.ack} of ${peer.sent}` }
        : { do: "acknowledge", ack: frame.ack }
    case "ping":
      return { do: "pong" }
    case "pong":
      return { do: "ignore" }
    case "invalid":
      return { do: "note_refusal", message: frame.message }
    default:
      return frame satisfies never
  }
}
