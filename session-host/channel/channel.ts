/**
 * The process's end of the Session channel: greets, replays, acknowledges, watches for silence, redials. It outlives
 * every supervisor that it meets. Each phase owns its line and timer; leaving the phase releases them.
 *
 * C1 nothing is applied before `welcome`, and nothing after the channel has ended
 * C2 an invalid frame is logged and answered; a numbered one counts as received, or its replay would come for ever
 * C3 the channel ends once, with the reason
 */
import type { ChannelDown, ChannelDownFrame, ChannelUp, SessionBootstrap } from "@computerd/protocol/channel"
import type { Failure } from "@computerd/protocol/errors"
import type { Ports, Stop } from "../ports.ts"
import { Conversation } from "./conversation.ts"
import { createFlushes, type Flushes } from "./flushes.ts"
import { decodeDown } from "./frames.ts"
import { dial, type Line } from "./line.ts"
import { type ChannelTiming, redialDelayMs } from "./timing.ts"

/** `protocol/channel.ts` loads zod; the compiler holds this to its number. */
const spokenProtocol: typeof import("@computerd/protocol/channel").channelProtocol = 1

export type ChannelEnd =
  | { readonly kind: "closed" }
  /** The supervisor does not want this process any more. */
  | { readonly kind: "rejected"; readonly error: Failure }
  | { readonly kind: "orphaned"; readonly afterMs: number }
  /** The numbering cannot be continued: frames would be lost without anybody noticing. */
  | { readonly kind: "broken"; readonly message: string }

export interface ChannelDeps {
  readonly bootstrap: SessionBootstrap
  readonly ports: Ports
  readonly timing: ChannelTiming
  /** A supervisor has taken this process's secret; called for each connection. */
  readonly opened: () => void
  readonly apply: (body: ChannelDown) => void
  /** The supervisor has everything up to and including `seq`. */
  readonly acknowledged: (seq: number) => void
  readonly ended: (end: ChannelEnd) => void
}

type Phase =
  | { readonly kind: "dialling"; readonly line: Line }
  | { readonly kind: "attached"; readonly line: Line }
  | { readonly kind: "waiting"; readonly redial: Stop }
  | { readonly kind: "ended" }

/** Dials at once. */
export class Channel {
  readonly #deps: ChannelDeps
  readonly #conversation = new Conversation()
  readonly #flushes: Flushes
  readonly #stopTicking: Stop
  #phase: Phase
  #failures = 0
  #silentTicks = 0

  constructor(deps: ChannelDeps) {
    this.#deps = deps
    this.#flushes = createFlushes(deps.ports)
    this.#phase = this.#dial()
    this.#stopTicking = deps.ports.every(deps.timing.tickMs, () => this.#tick())
  }

  /** Numbers, keeps and sends a frame; its number, or `undefined` when the channel has ended. */
  send(body: ChannelUp): number | undefined {
    if (this.#phase.kind === "ended") return undefined
    const seq = this.#conversation.say(body)
    if (seq === undefined) this.#end({ kind: "broken", message: "too many frames wait for the supervisor" })
    else if (this.#phase.kind === "attached") this.#writeAfter(this.#phase.line, seq - 1)
    return seq
  }

  /** True when every frame sent so far is acknowledged; false after `ms`, or at the channel's end. */
  flush(ms: number): Promise<boolean> {
    if (this.#conversation.unacknowledged === 0) return Promise.resolve(true)
    return this.#phase.kind === "ended" ? Promise.resolve(false) : this.#flushes.wait(ms)
  }

  close(): void {
    this.#end({ kind: "closed" })
  }

  #dial(): Phase {
    const { bootstrap, ports, timing } = this.#deps
    const line = dial(
      bootstrap,
      { ports, connectMs: timing.connectMs },
      {
        opened: (opened) => this.#greet(opened),
        heard: (from, data) => this.#hear(from, data),
        lost: () => this.#redial(),
      },
    )
    return { kind: "dialling", line }
  }

  #greet(line: Line): void {
    const { sessionId, generation } = this.#deps.bootstrap
    const { received } = this.#conversation
    line.write({ kind: "hello", protocol: spokenProtocol, sessionId, generation, received })
    this.#deps.opened()
  }

  #hear(line: Line, data: unknown): void {
    this.#silentTicks = 0
    const decoded = decodeDown(data)
    if (decoded.kind === "invalid") this.#refuse(line, decoded.message, decoded.seq)
    else if (this.#phase.kind === "dialling") this.#meet(line, decoded.frame)
    else this.#accept(line, decoded.frame)
    const ack = this.#phase.kind === "attached" ? this.#conversation.takeAck() : undefined
    if (ack !== undefined) line.write(ack)
  }

  /** Before `welcome` (C1). */
  #meet(line: Line, frame: ChannelDownFrame): void {
    switch (frame.kind) {
      case "welcome":
        this.#welcome(line, frame)
        break
      case "reject":
        this.#end({ kind: "rejected", error: frame.error })
        break
      case "ping":
        line.write({ kind: "pong" })
        break
      case "invalid":
        this.#deps.ports.log(`the supervisor refused the greeting: ${frame.message}`)
        break
      case "frame":
      case "ack":
      case "pong":
        this.#refuse(line, `${frame.kind} came before welcome`)
        break
      default:
        frame satisfies never
    }
  }

  #welcome(line: Line, frame: { readonly protocol: number; readonly received: number }): void {
    const { lastSent, acknowledged } = this.#conversation
    if (frame.protocol !== spokenProtocol) {
      const message = `the supervisor speaks Session channel ${frame.protocol}, this process ${spokenProtocol}; upgrade the older side`
      this.#end({ kind: "rejected", error: { code: "unsupported_protocol", message } })
    } else if (frame.received > lastSent || frame.received < acknowledged) {
      const message = `the supervisor has frame ${frame.received}; ${lastSent} were sent and ${acknowledged} acknowledged`
      this.#end({ kind: "broken", message })
    } else {
      this.#attach(line, frame.received)
    }
  }

  #attach(line: Line, received: number): void {
    line.welcomed()
    this.#phase = { kind: "attached", line }
    this.#failures = 0
    this.#writeAfter(line, received)
    this.#acknowledged(line, received)
  }

  #accept(line: Line, frame: ChannelDownFrame): void {
    switch (frame.kind) {
      case "frame":
        this.#acknowledged(line, frame.ack)
        this.#take(frame.seq, frame.body)
        break
      case "ack":
        this.#acknowledged(line, frame.ack)
        break
      case "ping":
        line.write({ kind: "pong" })
        break
      case "pong":
        break
      case "invalid":
        this.#deps.ports.log(
          `the supervisor refused frame ${frame.seq ?? "without a number"}: ${frame.message}`,
        )
        break
      case "reject":
        this.#end({ kind: "rejected", error: frame.error })
        break
      case "welcome":
        this.#refuse(line, "welcome came twice")
        break
      default:
        frame satisfies never
    }
  }

  #take(seq: number, body: ChannelDown): void {
    const before = this.#conversation.received
    const what = this.#conversation.arrive(seq)
    if (what === "apply") this.#deps.apply(body)
    if (what !== "gap") return
    this.#deps.ports.log(`frame ${seq} came after ${before}; reconnecting for what lies between`)
    this.#redial()
  }

  /** C2 */
  #refuse(line: Line, message: string, seq?: number): void {
    this.#deps.ports.log(`refused a frame from the supervisor: ${message}`)
    if (seq !== undefined && this.#phase.kind === "attached") this.#conversation.arrive(seq)
    line.write(seq === undefined ? { kind: "invalid", message } : { kind: "invalid", seq, message })
  }

  #acknowledged(line: Line, seq: number): void {
    if (!this.#conversation.acknowledge(seq)) {
      this.#refuse(line, `acknowledges frame ${seq}, which was never sent`)
      return
    }
    this.#deps.acknowledged(seq)
    if (this.#conversation.unacknowledged === 0) this.#flushes.settle(true)
  }

  #writeAfter(line: Line, seq: number): void {
    for (const frame of this.#conversation.after(seq)) line.write(frame)
  }

  #tick(): void {
    const { timing } = this.#deps
    this.#silentTicks += 1
    if (this.#silentTicks * timing.tickMs >= timing.orphanMs)
      this.#end({ kind: "orphaned", afterMs: timing.orphanMs })
    else if (this.#phase.kind !== "attached") return
    else if (this.#silentTicks % timing.deadAfterTicks === 0) this.#redial()
    else this.#phase.line.write({ kind: "ping" })
  }

  /** Gives the line up, if there is one, and tries again after a while. */
  #redial(): void {
    const { ports, timing } = this.#deps
    this.#release()
    const delay = redialDelayMs(timing, this.#failures, ports.random())
    this.#failures += 1
    const redial = ports.after(delay, () => {
      this.#phase = this.#dial()
    })
    this.#phase = { kind: "waiting", redial }
  }

  /** C3 */
  #end(reason: ChannelEnd): void {
    if (this.#phase.kind === "ended") return
    this.#release()
    this.#phase = { kind: "ended" }
    this.#stopTicking()
    this.#flushes.settle(false)
    this.#deps.ended(reason)
  }

  #release(): void {
    if (this.#phase.kind === "waiting") this.#phase.redial()
    else if (this.#phase.kind !== "ended") this.#phase.line.drop()
  }
}
