/**
 * One socket of a Session channel, from its opening to its close. What is sent comes from the store, so that a frame
 * leaves it only by acknowledgement; what is received is applied in one transaction with the cursor before the
 * acknowledgement goes out.
 */
import { type ChannelUp, channelProtocol, decodeChannelUp } from "@computerd/protocol/channel"
import type { Numbered } from "@computerd/protocol/numbering"
import type { Journal } from "../journal.ts"
import type { Cancel, Ports } from "../ports.ts"
import type { ProcessIdentity } from "../process/identity.ts"
import type { Store } from "../store/open.ts"
import type { ProcessRow } from "../store/processes.ts"
import { type ChannelMove, type ConnectionPhase, channelMove } from "./machine.ts"

export interface Socket {
  /** Bytes sent; -1: queued behind a slow reader; 0: dropped. */
  readonly send: (text: string) => number
  readonly close: (code: number, reason: string) => void
}

/** The Sessions' side of the channel. */
export interface ChannelOwner {
  /** The process is there: greeted, and sent what it lacks. */
  readonly connected: (process: ProcessIdentity) => void
  /** Its connection has ended, which may be the first sign that it has. */
  readonly disconnected: (process: ProcessIdentity) => void
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

/** From the upgrade until `hello`. */
const helloTimeoutMs = 10_000
const policyViolation = 1008
const tryAgainLater = 1013

export class Connection {
  readonly process: ProcessIdentity
  readonly #deps: ConnectionDeps
  readonly #socket: Socket
  readonly #cancelHelloTimeout: Cancel
  #phase: ConnectionPhase | "closed" = "awaiting_hello"
  #sentUpTo = 0
  #isBlocked = false

  constructor(deps: ConnectionDeps, process: ProcessIdentity, socket: Socket) {
    this.process = process
    this.#deps = deps
    this.#socket = socket
    this.#cancelHelloTimeout = deps.ports.timers.after(helloTimeoutMs, () => {
      if (this.#phase === "awaiting_hello") this.hangUp(policyViolation, "no hello came")
    })
  }

  receive(data: string | Uint8Array): void {
    try {
      this.#take(data)
    } catch (error) {
      this.#storeFailed("channel", error)
    }
  }

  /** Sends what the process has not been sent, as far as it reads. */
  flush(): void {
    const { store } = this.#deps
    while (this.#phase === "open" && !this.#isBlocked) {
      const row = this.#peer()
      const frames =
        row === undefined ? [] : store.processes.framesAfter(this.process.sessionId, this.#sentUpTo)
      if (row === undefined || frames.length === 0) return
      if (!this.#sendFrames(frames, row.received)) return
    }
  }

  drained(): void {
    this.#isBlocked = false
    this.flush()
  }

  ping(): void {
    if (this.#phase === "open") this.#send('{"kind":"ping"}')
  }

  hangUp(code: number, reason: string): void {
    if (this.#phase === "closed") return
    this.closed()
    this.#socket.close(code, reason)
  }

  /** The socket is gone. */
  closed(): void {
    this.#phase = "closed"
    this.#cancelHelloTimeout()
  }

  /** What the store knows of the process; `undefined` when it has been replaced. */
  #peer(): ProcessRow | undefined {
    const row = this.#deps.store.processes.get(this.process.sessionId)
    return row?.generation === this.process.generation ? row : undefined
  }

  #take(data: string | Uint8Array): void {
    const peer = this.#peer()
    if (this.#phase === "closed") return
    if (peer === undefined) {
      this.hangUp(policyViolation, "this process has been replaced")
      return
    }
    const decoded = decodeChannelUp(data)
    if (decoded.kind === "invalid") this.#answerInvalid(peer, decoded)
    else this.#perform(channelMove(this.#phase, peer, decoded.frame))
  }

  #perform(move: ChannelMove): void {
    switch (move.do) {
      case "welcome":
        this.#open(move.replayAfter)
        break
      case "reject":
        this.#send(JSON.stringify({ kind: "reject", error: move.error }))
        this.hangUp(policyViolation, move.error.code)
        break
      case "apply":
        this.#apply(move.seq, () => {
          this.#acknowledged(move.ack)
          this.#deps.owner.apply(this.process, move.body)
        })
        break
      case "repeat":
        this.#acknowledged(move.ack)
        this.#acknowledge()
        break
      case "acknowledge":
        this.#acknowledged(move.ack)
        break
      case "pong":
        this.#send('{"kind":"pong"}')
        break
      case "note_refusal":
        this.#noteInvalid(move.message)
        break
      case "hang_up":
        this.#noteInvalid(move.reason)
        this.hangUp(policyViolation, move.reason)
        break
      case "ignore":
        break
      default:
        move satisfies never
    }
  }

  #open(replayAfter: number): void {
    this.#phase = "open"
    this.#cancelHelloTimeout()
    this.#sentUpTo = replayAfter
    this.#acknowledged(replayAfter)
    const received = this.#peer()?.received ?? 0
    this.#deps.journal.record({ event: "channel_connected", ...this.process, received })
    this.#send(JSON.stringify({ kind: "welcome", protocol: channelProtocol, received }))
    this.#deps.owner.connected(this.process)
    this.flush()
  }

  /** Both or neither: the effect of the frame and the cursor that says it was applied. */
  #apply(seq: number, effect: () => void): void {
    const { store, ports } = this.#deps
    try {
      store.transaction(() => {
        store.processes.setReceived(this.process.sessionId, seq)
        // First, since other effects wait for the commit too.
        store.afterCommit(() => ports.reach("report.after_commit"))
        effect()
        ports.reach("report.before_commit")
      })
    } catch (error) {
      this.#storeFailed("channel frame", error)
      return
    }
    this.#acknowledge()
    ports.reach("report.after_acknowledgement")
  }

  /** CH3: the process is told, and a numbered frame that was next counts as received. */
  #answerInvalid(
    peer: ProcessRow,
    { message, seq }: { readonly message: string; readonly seq?: number },
  ): void {
    this.#noteInvalid(message)
    this.#send(JSON.stringify({ kind: "invalid", ...(seq === undefined ? {} : { seq }), message }))
    if (this.#phase === "open" && seq === peer.received + 1) this.#apply(seq, () => undefined)
  }

  #acknowledged(ack: number): void {
    this.#deps.store.processes.acknowledge(this.process.sessionId, ack)
  }

  #acknowledge(): void {
    if (this.#phase === "open") this.#send(`{"kind":"ack","ack":${this.#peer()?.received ?? 0}}`)
  }

  /** `false`: no more can be sent now. */
  #sendFrames(frames: readonly Numbered<string>[], received: number): boolean {
    for (const { seq, body } of frames) {
      const text = this.#deps.owner.wire(this.process, body)
      if (text === undefined) return false
      this.#send(`{"kind":"frame","seq":${seq},"ack":${received},"body":${text}}`)
      this.#sentUpTo = seq
      this.#deps.ports.reach("frame.after_send")
      if (this.#isBlocked || this.#phase !== "open") return false
    }
    return true
  }

  #send(text: string): void {
    const sent = this.#socket.send(text)
    if (sent === -1) this.#isBlocked = true
    if (sent === 0) this.hangUp(tryAgainLater, "the connection takes no more")
  }

  #noteInvalid(message: string): void {
    this.#deps.journal.record({ event: "channel_frame_invalid", ...this.process, message })
  }

  /** The process connects again and sends again what was not acknowledged. */
  #storeFailed(during: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error)
    this.#deps.journal.record({ event: "store_write_failed", during, message })
    this.hangUp(tryAgainLater, "the frame could not be stored")
  }
}
