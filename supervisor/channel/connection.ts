/**
 * One socket of a Session channel, from its opening to its close. What is sent comes from the store, so that a frame
 * leaves it only by acknowledgement; what is received is applied in one transaction with the cursor before the
 * acknowledgement goes out.
 */
import { type ChannelUp, channelProtocol, decodeChannelUp } from "@computerd/protocol/channel"
import type { Journal } from "../journal.ts"
import type { Cancel, Ports } from "../ports.ts"
import type { ProcessIdentity } from "../process/identity.ts"
import type { Store } from "../store/open.ts"
import { type ChannelMove, type ConnectionPhase, channelMove } from "./machine.ts"

export interface Socket {
  /** Bytes sent; -1: queued behind a slow reader; 0: dropped. */
  readonly send: (text: string) => number
  readonly close: (code: number, reason: string) => void
}

/** The Sessions' side of the channel. */
export interface ChannelOwner {
  /** Called inside the transaction that moves the cursor. */
  readonly apply: (process: ProcessIdentity, body: ChannelUp) => void
  /** The text to send for a stored frame; `undefined`: not known yet, `flush` will be called. */
  readonly wire: (process: ProcessIdentity, stored: string) => string | undefined
}

export interface ConnectionDeps {
  readonly ports: Ports
  readonly journal: Journal
  readonly store: Store
  readonly owner: ChannelOwner
}

export interface Connection {
  readonly process: ProcessIdentity
  readonly receive: (data: string | Uint8Array) => void
  /** Sends what the process has not been sent, as far as it reads. */
  readonly flush: () => void
  readonly drained: () => void
  readonly ping: () => void
  readonly hangUp: (code: number, reason: string) => void
  readonly closed: () => void
}

/** From the upgrade until `hello`. */
const helloTimeoutMs = 10_000
const policyViolation = 1008
const tryAgainLater = 1013

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export const createConnection = (
  deps: ConnectionDeps,
  process: ProcessIdentity,
  socket: Socket,
): Connection => {
  const { store, journal, owner } = deps
  const { sessionId } = process
  let phase: ConnectionPhase | "closed" = "awaiting_hello"
  let sentUpTo = 0
  let blocked = false

  const hangUp = (code: number, reason: string): void => {
    if (phase === "closed") return
    closed()
    socket.close(code, reason)
  }
  const cancelHelloTimeout: Cancel = deps.ports.timers.after(helloTimeoutMs, () => {
    if (phase === "awaiting_hello") hangUp(policyViolation, "no hello came")
  })
  const closed = (): void => {
    phase = "closed"
    cancelHelloTimeout()
  }

  const send = (text: string): void => {
    const sent = socket.send(text)
    if (sent === -1) blocked = true
    if (sent === 0) hangUp(tryAgainLater, "the connection takes no more")
  }
  const peer = () => {
    const row = store.processes.get(sessionId)
    return row?.generation === process.generation ? row : undefined
  }
  const acknowledge = (): void => {
    if (phase === "open") send(`{"kind":"ack","ack":${peer()?.received ?? 0}}`)
  }

  const flush = (): void => {
    while (phase === "open" && !blocked) {
      const received = peer()?.received
      const frames = received === undefined ? [] : store.processes.framesAfter(sessionId, sentUpTo)
      if (frames.length === 0) return
      for (const { seq, body } of frames) {
        const text = owner.wire(process, body)
        if (text === undefined) return
        send(`{"kind":"frame","seq":${seq},"ack":${received},"body":${text}}`)
        sentUpTo = seq
        if (blocked || phase !== "open") return
      }
    }
  }

  /** Both or neither: the effect of the frame and the cursor that says it was applied. */
  const apply = (seq: number, effect: () => void): void => {
    try {
      store.transaction(() => {
        store.processes.setReceived(sessionId, seq)
        effect()
      })
      acknowledge()
    } catch (error) {
      journal.record({ event: "store_write_failed", during: "channel frame", message: messageOf(error) })
      hangUp(tryAgainLater, "the frame could not be stored")
    }
  }

  const open = (replayAfter: number): void => {
    phase = "open"
    cancelHelloTimeout()
    sentUpTo = replayAfter
    store.transaction(() => store.processes.acknowledge(sessionId, replayAfter))
    const received = peer()?.received ?? 0
    journal.record({ event: "channel_connected", ...process, received })
    send(JSON.stringify({ kind: "welcome", protocol: channelProtocol, received }))
    flush()
  }

  const perform = (move: ChannelMove): void => {
    switch (move.do) {
      case "welcome":
        open(move.replayAfter)
        return
      case "reject":
        send(JSON.stringify({ kind: "reject", error: move.error }))
        hangUp(policyViolation, move.error.code)
        return
      case "apply":
        apply(move.seq, () => {
          store.processes.acknowledge(sessionId, move.ack)
          owner.apply(process, move.body)
        })
        return
      case "repeat":
        store.processes.acknowledge(sessionId, move.ack)
        acknowledge()
        return
      case "acknowledge":
        store.processes.acknowledge(sessionId, move.ack)
        return
      case "pong":
        send('{"kind":"pong"}')
        return
      case "note_refusal":
        journal.record({ event: "channel_frame_invalid", ...process, message: move.message })
        return
      case "hang_up":
        journal.record({ event: "channel_frame_invalid", ...process, message: move.reason })
        hangUp(policyViolation, move.reason)
        return
      case "ignore":
        return
      default:
        move satisfies never
    }
  }

  /** CH3: the process is told, and a numbered frame that was next counts as received. */
  const answerInvalid = (message: string, seq: number | undefined): void => {
    journal.record({ event: "channel_frame_invalid", ...process, message })
    send(JSON.stringify({ kind: "invalid", ...(seq === undefined ? {} : { seq }), message }))
    if (phase === "open" && seq !== undefined && seq === (peer()?.received ?? 0) + 1)
      apply(seq, () => undefined)
  }

  const take = (data: string | Uint8Array): void => {
    const known = peer()
    if (phase === "closed") return
    if (known === undefined) {
      hangUp(policyViolation, "this process has been replaced")
      return
    }
    const decoded = decodeChannelUp(data)
    if (decoded.kind === "invalid") answerInvalid(decoded.message, decoded.seq)
    else perform(channelMove(phase, known, decoded.frame))
  }

  return {
    process,
    receive: (data) => {
      try {
        take(data)
      } catch (error) {
        journal.record({ event: "store_write_failed", during: "channel", message: messageOf(error) })
        hangUp(tryAgainLater, "the frame could not be handled")
      }
    },
    flush,
    drained: () => {
      blocked = false
      flush()
    },
    ping: () => {
      if (phase === "open") send('{"kind":"ping"}')
    },
    hangUp,
    closed,
  }
}
