/**
 * One attempt to hold the control-plane link, as a machine: from the dial until it ends. Pure; the dialer feeds it
 * what happens on the socket and carries out its effects in order.
 *
 * dialing   --opened-->    attaching (sends `attach`)
 * attaching --attached-->  attached  (adopts the desired state, F2)
 * attached  --frame-->     attached  (applies it once and in order, N2 N3)
 * any       --refuse, parked, closed, overdue, gap, fault, stop--> ended, once
 */
import type { Epoch, RequestId } from "@computerd/protocol/ids"
import {
  type AdmissionAnswer,
  type Lease,
  type LinkCommand,
  type LinkDownFrame,
  linkProtocol,
} from "@computerd/protocol/link"
import { arrival } from "@computerd/protocol/numbering"
import { type AttemptOutcome, refusal } from "./outcome.ts"

export type Attached = Extract<LinkDownFrame, { readonly kind: "attached" }>
type Numbered = Extract<LinkDownFrame, { readonly kind: "frame" }>

export type AttemptPhase =
  | { readonly phase: "dialing" }
  | { readonly phase: "attaching" }
  | { readonly phase: "attached"; readonly epoch: Epoch; readonly received: number }
  | { readonly phase: "ended"; readonly outcome: AttemptOutcome }

export type AttemptEvent =
  | { readonly type: "opened" }
  | { readonly type: "frame"; readonly frame: LinkDownFrame }
  | { readonly type: "unreadable"; readonly message: string; readonly seq?: number }
  | { readonly type: "closed"; readonly detail: string }
  /** The peer had closed while this Computer was frozen. */
  | { readonly type: "parked"; readonly detail: string }
  /** No `attached` within the deadline, or silence for longer than the link allows. */
  | { readonly type: "overdue"; readonly detail: string }
  /** An effect could not be carried out. */
  | { readonly type: "faulted"; readonly detail: string }
  | { readonly type: "stop" }

export type AttemptEffect =
  | { readonly do: "send_attach" }
  | { readonly do: "adopt"; readonly attached: Attached }
  | { readonly do: "apply"; readonly seq: number; readonly command: LinkCommand }
  | { readonly do: "send_ack"; readonly ack: number }
  /** The control plane has everything up to and including `ack`. */
  | { readonly do: "forget_events"; readonly ack: number }
  | { readonly do: "renew"; readonly requestId: RequestId; readonly lease: Lease }
  | { readonly do: "answer"; readonly requestId: RequestId; readonly answer: AdmissionAnswer }
  | { readonly do: "receipt"; readonly requestId: RequestId; readonly answer: AdmissionAnswer | undefined }
  /** What arrived could not be accepted: log it, and tell the peer. */
  | { readonly do: "complain"; readonly message: string; readonly seq?: number }
  /** The peer could not accept what was sent. */
  | { readonly do: "note_complaint"; readonly message: string }
  | { readonly do: "end"; readonly outcome: AttemptOutcome }

export interface Step {
  readonly next: AttemptPhase
  readonly effects: readonly AttemptEffect[]
}

export const initialPhase: AttemptPhase = { phase: "dialing" }

const end = (outcome: AttemptOutcome, ...before: readonly AttemptEffect[]): Step => ({
  next: { phase: "ended", outcome },
  effects: [...before, { do: "end", outcome }],
})

const stay = (next: AttemptPhase, ...effects: readonly AttemptEffect[]): Step => ({ next, effects })

const adopt = (attached: Attached): Step => {
  if (attached.protocol !== linkProtocol)
    return end({
      kind: "rejected",
      error: {
        code: "unsupported_protocol",
        message: `the control plane speaks link protocol ${attached.protocol}, this supervisor ${linkProtocol}; upgrade the older side`,
      },
    })
  const next: AttemptPhase = {
    phase: "attached",
    epoch: attached.lease.epoch,
    received: attached.commandSeq,
  }
  return stay(next, { do: "adopt", attached })
}

const attachingFrame = (phase: AttemptPhase, frame: LinkDownFrame): Step => {
  if (frame.kind === "attached") return adopt(frame)
  if (frame.kind === "refuse") return end(refusal(frame.error))
  if (frame.kind === "invalid")
    return end({ kind: "out_of_step", detail: `attach was refused: ${frame.message}` })
  return stay(phase, { do: "complain", message: `${frame.kind} before attached` })
}

type AttachedPhase = Extract<AttemptPhase, { readonly phase: "attached" }>

const numberedFrame = (phase: AttachedPhase, frame: Numbered): Step => {
  const forget: AttemptEffect = { do: "forget_events", ack: frame.ack }
  switch (arrival(phase.received, frame.seq)) {
    case "repeat":
      return stay(phase, forget, { do: "send_ack", ack: phase.received })
    case "gap":
      return end({ kind: "out_of_step", detail: `command ${frame.seq} arrived after ${phase.received}` })
    case "apply":
      return stay(
        { ...phase, received: frame.seq },
        forget,
        { do: "apply", seq: frame.seq, command: frame.body },
        { do: "send_ack", ack: frame.seq },
      )
  }
}

const renewed = (phase: AttachedPhase, requestId: RequestId, lease: Lease): Step => {
  if (lease.epoch === phase.epoch) return stay(phase, { do: "renew", requestId, lease })
  return end({
    kind: "out_of_step",
    detail: `a renewal changed the epoch from ${phase.epoch} to ${lease.epoch}`,
  })
}

const attachedFrame = (phase: AttachedPhase, frame: LinkDownFrame): Step => {
  switch (frame.kind) {
    case "attached":
      return end({ kind: "out_of_step", detail: "attached twice" })
    case "refuse":
      return end(refusal(frame.error))
    case "frame":
      return numberedFrame(phase, frame)
    case "ack":
      return stay(phase, { do: "forget_events", ack: frame.ack })
    case "renewed":
      return renewed(phase, frame.requestId, frame.lease)
    case "admitted":
      return stay(phase, { do: "answer", requestId: frame.requestId, answer: frame.answer })
    case "receipt":
      return stay(phase, { do: "receipt", requestId: frame.requestId, answer: frame.answer })
    case "invalid":
      return stay(phase, { do: "note_complaint", message: frame.message })
  }
}

const onFrame = (phase: AttemptPhase, frame: LinkDownFrame): Step => {
  if (phase.phase === "attached") return attachedFrame(phase, frame)
  if (phase.phase === "attaching") return attachingFrame(phase, frame)
  return end({ kind: "out_of_step", detail: `${frame.kind} before the attach` })
}

/** Before the attachment a lost socket means that nobody was reached; after it, that the link was cut. */
const lost = (phase: AttemptPhase, detail: string): Step =>
  end(phase.phase === "attached" ? { kind: "cut", detail } : { kind: "unreachable", detail })

/**
 * An unreadable answer to `attach`, or an unreadable command, ends the attempt: neither can be passed over, and the
 * next `attached` states everything anew. Anything else unreadable is answered and passed over.
 */
const unreadable = (
  phase: AttemptPhase,
  { message, seq }: { readonly message: string; readonly seq?: number },
): Step => {
  const complaint: AttemptEffect =
    seq === undefined ? { do: "complain", message } : { do: "complain", message, seq }
  if (phase.phase === "attached" && seq === undefined) return stay(phase, complaint)
  const what = seq === undefined ? "the answer to attach" : `command ${seq}`
  return end({ kind: "out_of_step", detail: `${what} is unreadable: ${message}` }, complaint)
}

export const transition = (phase: AttemptPhase, event: AttemptEvent): Step => {
  if (phase.phase === "ended") return stay(phase)
  switch (event.type) {
    case "opened":
      return phase.phase === "dialing" ? stay({ phase: "attaching" }, { do: "send_attach" }) : stay(phase)
    case "frame":
      return onFrame(phase, event.frame)
    case "unreadable":
      return unreadable(phase, event)
    case "closed":
    case "overdue":
      return lost(phase, event.detail)
    case "parked":
      return end({ kind: "parked", detail: event.detail })
    case "faulted":
      return end({ kind: "faulted", detail: event.detail })
    case "stop":
      return end({ kind: "stopped" })
  }
}
