/**
 * One connection of a supervisor, from its `attach` to its end.
 *
 * F1 every frame's epoch goes to the receiver, which refuses an older one; the connection ends with that refusal
 * N2 N3 the receiver applies events once and in order; what it cannot apply ends the connection, and the next replays it
 * K1 a connection ends once: its requests stop waiting, and it sends nothing more
 */
import { type Failure, fail, failure, type Result } from "@computerd/protocol/errors"
import type { ComputerId, Epoch } from "@computerd/protocol/ids"
import {
  decodeLinkUp,
  type LinkDownFrame,
  type LinkUpFrame,
  linkParkedCode,
  linkProtocol,
} from "@computerd/protocol/link"
import { findTool } from "@computerd/runtime-mcp/tools/catalogue"
import type { CancelTimer, Ports } from "../ports.ts"
import type { AttachedFrame, AttachFrame, Receiver } from "../receiver/receiver.ts"
import { foreignProtocol } from "./foreign.ts"
import { createRequests } from "./requests.ts"

export interface Socket {
  /** False when the peer takes too little for more to be kept for it. */
  readonly send: (text: string) => boolean
  readonly close: (code: number, reason: string) => void
}

export interface ConnectionDeps {
  readonly receiver: Pick<
    Receiver,
    "attach" | "renew" | "detach" | "event" | "admit" | "receipt" | "commandsAfter" | "acknowledge"
  >
  readonly ports: Ports
  /** The receiver has granted the lease to this connection. */
  readonly attached: (connection: Connection) => void
}

export interface Connection {
  readonly computerId: ComputerId
  readonly receive: (data: string | Uint8Array) => void
  /** Sends the commands that are new. */
  readonly push: () => void
  readonly refuse: (error: Failure) => void
  /** Ends it; the peer is frozen and reads the reason when it wakes. */
  readonly park: () => void
  /** The socket is gone. */
  readonly closed: (detail: string) => void
}

const attachTimeoutMs = 10_000
/** A peer that sends this many frames which nobody can read is not going to send a better one. */
const invalidFramesMax = 16

/** Close codes of our own; the reason stands in the frame before the close. */
const closeCode = { detached: 1000, refused: 4001, outOfStep: 4002, failed: 4003 } as const

/** Of what a supervisor says about our frames, this much goes to the log. */
const complaintMaxLength = 200

const otherProtocol = (theirs: number): ReturnType<typeof fail> =>
  fail(
    "unsupported_protocol",
    `this control plane speaks link protocol ${linkProtocol}, not ${theirs}; upgrade the older side`,
  )

type Phase =
  | { readonly kind: "attaching"; readonly cancelDeadline: CancelTimer }
  | { readonly kind: "attached"; readonly epoch: Epoch; sent: number; received: number; ackDue: boolean }
  | { readonly kind: "ended" }

type Attached = Extract<Phase, { kind: "attached" }>
type Fenced = Exclude<LinkUpFrame, { kind: "attach" | "invalid" }>

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : "unknown reason")

export const openConnection = (computerId: ComputerId, socket: Socket, deps: ConnectionDeps): Connection => {
  const { receiver, ports } = deps
  const requests = createRequests((error) =>
    ports.journal.record({
      type: "task_failed",
      task: `admission from ${computerId}`,
      message: messageOf(error),
    }),
  )
  let invalidFrames = 0
  let phase: Phase = {
    kind: "attaching",
    cancelDeadline: ports.after(attachTimeoutMs, () =>
      refuse(failure("invalid_frame", `no attach within ${attachTimeoutMs} ms`)),
    ),
  }

  const send = (frame: LinkDownFrame): void => {
    if (phase.kind === "ended") return
    if (!socket.send(JSON.stringify(frame))) end(closeCode.failed, "the peer reads too slowly")
  }

  /** K1 */
  const leave = (reason: string): boolean => {
    if (phase.kind === "ended") return false
    if (phase.kind === "attaching") phase.cancelDeadline()
    phase = { kind: "ended" }
    requests.end()
    ports.journal.record({ type: "link_closed", computerId, reason })
    return true
  }

  const end = (code: number, reason: string): void => {
    if (leave(reason)) socket.close(code, reason)
  }

  const refuse = (error: Failure): void => {
    if (phase.kind === "ended") return
    ports.journal.record({ type: "link_refused", computerId, reason: `${error.code}: ${error.message}` })
    send({ kind: "refuse", error })
    end(closeCode.refused, error.code)
  }

  const complain = (message: string, seq?: number): void => {
    invalidFrames += 1
    send(seq === undefined ? { kind: "invalid", message } : { kind: "invalid", message, seq })
    if (invalidFrames >= invalidFramesMax) end(closeCode.outOfStep, "too many unreadable frames")
  }

  const push = (): void => {
    if (phase.kind !== "attached") return
    const at = phase
    for (const { seq, body } of receiver.commandsAfter(computerId, at.sent)) {
      if (phase !== at) return
      at.sent = seq
      send({ kind: "frame", seq, ack: at.received, body })
      ports.reach("command.after_send")
    }
  }

  const grant = (frame: AttachFrame): Result<AttachedFrame> => {
    if (frame.protocol !== linkProtocol) return otherProtocol(frame.protocol)
    return frame.computerId === computerId
      ? receiver.attach(computerId, frame)
      : fail("unauthorized", "the credential belongs to another Computer")
  }

  const begin = (granted: AttachedFrame): void => {
    if (phase.kind === "attaching") phase.cancelDeadline()
    const { lease, commandSeq, received } = granted
    phase = { kind: "attached", epoch: lease.epoch, sent: commandSeq, received, ackDue: false }
    // Before the answer, so that an older connection of this Computer has ended when the new one begins.
    deps.attached(connection)
    send(granted)
    ports.reach("attached.after_send")
    ports.journal.record({ type: "link_opened", computerId, reason: `epoch ${lease.epoch}` })
    push()
  }

  const attach = (frame: AttachFrame): void => {
    const granted = grant(frame)
    if (granted.ok) begin(granted.value)
    else refuse(granted.error)
  }

  const acknowledgeSoon = (at: Attached): void => {
    if (at.ackDue) return
    at.ackDue = true
    ports.soon(() => {
      at.ackDue = false
      if (phase === at) send({ kind: "ack", ack: at.received })
      ports.reach("acknowledgement.after_send")
    })
  }

  const event = (at: Attached, frame: Extract<LinkUpFrame, { kind: "frame" }>): void => {
    receiver.acknowledge(computerId, frame.ack)
    const applied = receiver.event(computerId, frame.epoch, frame.seq, frame.atMs, frame.body)
    if (applied.ok) {
      at.received = Math.max(at.received, frame.seq)
      acknowledgeSoon(at)
    } else if (applied.error.code === "superseded") refuse(applied.error)
    else {
      send({ kind: "invalid", seq: frame.seq, message: applied.error.message })
      end(closeCode.outOfStep, applied.error.code)
    }
  }

  const renew = (frame: Extract<LinkUpFrame, { kind: "renew" }>): void => {
    const renewed = receiver.renew(computerId, frame.epoch)
    if (renewed.ok) send({ kind: "renewed", requestId: frame.requestId, lease: renewed.value })
    else refuse(renewed.error)
  }

  const receipt = (frame: Extract<LinkUpFrame, { kind: "receipt" }>): void => {
    const { epoch, requestId, sessionId, idempotencyKey } = frame
    const answer = receiver.receipt(computerId, epoch, sessionId, idempotencyKey)
    send(answer === undefined ? { kind: "receipt", requestId } : { kind: "receipt", requestId, answer })
  }

  const admit = ({ epoch, requestId, request }: Extract<LinkUpFrame, { kind: "admit" }>): void =>
    requests.start({
      requestId,
      isMutation: findTool(request.tool)?.mutating === true,
      perform: (signal) => receiver.admit(computerId, epoch, request, signal),
      answer: (answer) => {
        send({ kind: "admitted", requestId, answer })
        ports.reach("answer.after_send")
      },
    })

  const detach = (epoch: Epoch): void => {
    receiver.detach(computerId, epoch)
    end(closeCode.detached, "detached")
  }

  const fenced = (at: Attached, frame: Fenced): void => {
    switch (frame.kind) {
      case "frame":
        event(at, frame)
        break
      case "ack":
        receiver.acknowledge(computerId, frame.ack)
        break
      case "renew":
        renew(frame)
        break
      case "admit":
        admit(frame)
        break
      case "abandon":
        requests.abandon(frame.requestId)
        break
      case "receipt":
        receipt(frame)
        break
      case "detach":
        detach(frame.epoch)
        break
    }
  }

  const note = (frame: Extract<LinkUpFrame, { kind: "invalid" }>): void => {
    const about = frame.seq === undefined ? "" : ` about frame ${frame.seq}`
    const message = `supervisor ${computerId} complains${about}: ${frame.message.slice(0, complaintMaxLength)}`
    ports.journal.record({ type: "task_failed", task: "link", message })
  }

  const apply = (frame: LinkUpFrame): void => {
    if (frame.kind === "invalid") note(frame)
    else if (frame.kind === "attach") {
      if (phase.kind === "attaching") attach(frame)
      else complain("attach was sent already")
    } else if (phase.kind !== "attached") complain("attach must be the first frame")
    // F1
    else if (frame.epoch === phase.epoch) fenced(phase, frame)
    else refuse(failure("superseded", "this epoch is over; another supervisor owns the Computer"))
  }

  const applySafely = (frame: LinkUpFrame): void => {
    try {
      apply(frame)
    } catch (error) {
      // The store failed under the frame: it is not acknowledged, and the next connection brings it again.
      ports.journal.record({ type: "task_failed", task: `link ${frame.kind}`, message: messageOf(error) })
      end(closeCode.failed, "the control plane could not apply a frame")
    }
  }

  const receive = (data: string | Uint8Array): void => {
    if (phase.kind === "ended") return
    const foreign = phase.kind === "attaching" ? foreignProtocol(data) : undefined
    if (foreign !== undefined) {
      refuse(otherProtocol(foreign).error)
      return
    }
    const decoded = decodeLinkUp(data)
    if (decoded.kind === "ok") applySafely(decoded.frame)
    else complain(decoded.message, decoded.seq)
  }

  const connection: Connection = {
    computerId,
    receive,
    push,
    refuse,
    park: () => end(linkParkedCode, "parked"),
    closed: (detail) => void leave(detail),
  }
  return connection
}
