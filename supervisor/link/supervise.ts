/**
 * Holds the control-plane link for as long as the supervisor lives: dials, and redials for ever with backoff, until
 * it is stopped or refused for good.
 *
 * LK3 `superseded`, `unauthorized` and `unsupported_protocol` are final: the lease ends and Session processes stop
 */
import type { Failure } from "@computerd/protocol/errors"
import { linkPath } from "@computerd/protocol/link"
import { within } from "../ports.ts"
import { backoffMs } from "./backoff.ts"
import { Connection } from "./connection.ts"
import type { UnfencedFrame } from "./dial.ts"
import type { Link, LinkDeps, LinkState, LinkStatus } from "./link.ts"
import { type AttemptOutcome, describe, refusal, type Sequel, sequel } from "./outcome.ts"

/** How long a detach waits for the socket's end. */
const closeMs = 2_000
const flushPollMs = 20
/** An attachment that held for so long was a good one; a peer that cuts each at once is backed off from. */
const stableMs = 5_000

type Phase =
  | { readonly phase: "idle" }
  | { readonly phase: "connecting"; readonly connection: Connection }
  | { readonly phase: "attached"; readonly connection: Connection }
  | { readonly phase: "backing_off"; readonly wake: () => void }
  | { readonly phase: "refused" }
  | { readonly phase: "stopped" }

const stateOf = (phase: Phase): LinkState => {
  switch (phase.phase) {
    case "idle":
    case "connecting":
      return "connecting"
    case "stopped":
      return "refused"
    default:
      return phase.phase
  }
}

const linkUrl = (controlPlaneUrl: string): string => {
  const url = new URL(linkPath, controlPlaneUrl)
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:"
  return url.href
}

export class ControlPlaneLink implements Link {
  readonly #deps: LinkDeps
  readonly #url: string
  #phase: Phase = { phase: "idle" }
  #sinceMs: number
  /** Since the last attachment. */
  #attempts = 0
  /** Since the last attachment that was stable: what the backoff grows with. */
  #failures = 0
  #attachedAtMs = 0
  #lastError: string | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(deps: LinkDeps) {
    this.#deps = deps
    this.#url = linkUrl(deps.controlPlaneUrl)
    this.#sinceMs = deps.ports.clock.wallMs()
  }

  start(): void {
    this.#running = this.#run()
  }

  status(): LinkStatus {
    return {
      state: stateOf(this.#phase),
      url: this.#url,
      sinceMs: this.#sinceMs,
      attempts: this.#attempts,
      lastError: this.#lastError,
    }
  }

  send(frame: UnfencedFrame): boolean {
    return this.#phase.phase === "attached" && this.#phase.connection.send(frame)
  }

  pump(): void {
    if (this.#phase.phase === "attached") this.#phase.connection.pump()
  }

  verify(): void {
    if (this.#phase.phase === "attached") this.#phase.connection.probe()
    if (this.#phase.phase === "backing_off") this.#phase.wake()
  }

  /** Without a link nothing can be flushed: what is left is durable and goes out after the next start. */
  async flush(limitMs: number): Promise<boolean> {
    const { outbox, ports } = this.#deps
    const untilMs = ports.clock.monotonicMs() + limitMs
    while (outbox.unacknowledged() > 0) {
      if (this.#phase.phase !== "attached" || ports.clock.monotonicMs() >= untilMs) return false
      await new Promise<void>((resolve) => ports.timers.after(flushPollMs, resolve))
    }
    return true
  }

  async close(): Promise<void> {
    const last = this.#phase
    this.#phase = { phase: "stopped" }
    if (last.phase === "backing_off") last.wake()
    if (last.phase === "attached") last.connection.send({ kind: "detach" })
    if (last.phase === "attached" || last.phase === "connecting") last.connection.stop()
    this.#deps.lease.end()
    await within(this.#deps.ports.timers, closeMs, this.#running)
  }

  async #run(): Promise<void> {
    for (;;) {
      const outcome = await this.#attempt()
      if (this.#isStopped()) return this.#note({ kind: "stopped" }, null)
      const next = sequel(outcome)
      if (next === "stop") return this.#giveUp(outcome)
      this.#attempts += 1
      const delayMs = this.#delay(next)
      this.#note(outcome, delayMs)
      await this.#pause(delayMs)
      if (this.#isStopped()) return
    }
  }

  #delay(next: Exclude<Sequel, "stop">): number {
    const wasStable = this.#wasStable()
    // A Computer may be parked and woken many times in a row; that is no failure.
    if (next === "redial_soon") this.#failures = wasStable ? 0 : 1
    else this.#failures = next === "redial_afresh" && wasStable ? 1 : this.#failures + 1
    return this.#failures === 0 ? 0 : backoffMs(this.#failures, this.#deps.ports.random())
  }

  /** The loop gets outcomes, not exceptions. */
  async #attempt(): Promise<AttemptOutcome> {
    try {
      return await this.#connect()
    } catch (error) {
      return { kind: "faulted", detail: error instanceof Error ? error.message : String(error) }
    }
  }

  async #connect(): Promise<AttemptOutcome> {
    const credential = this.#deps.credential()
    if (!credential.ok) return { kind: "unreachable", detail: credential.error.message }
    const target = { url: this.#url, credential: credential.value }
    const connection = new Connection({
      deps: this.#deps,
      target,
      attached: () => this.#attached(connection),
    })
    this.#enter({ phase: "connecting", connection })
    const outcome = await connection.ended
    if (outcome.kind !== "unreachable" || this.#isStopped()) return outcome
    const refused = await this.#deps.transport.refusal(target)
    return refused === undefined ? outcome : this.#unknownCredential(refused)
  }

  #attached(connection: Connection): void {
    this.#attempts = 0
    this.#attachedAtMs = this.#deps.ports.clock.monotonicMs()
    this.#lastError = undefined
    this.#enter({ phase: "attached", connection })
    this.#deps.attached()
  }

  #wasStable(): boolean {
    return this.#deps.ports.clock.monotonicMs() - this.#attachedAtMs >= stableMs
  }

  /** While the lease is held the credential may be one that is just being replaced; after that it is a dead one. */
  #unknownCredential(error: Failure): AttemptOutcome {
    return this.#deps.lease.state().state === "held" ? { kind: "refused", error } : refusal(error)
  }

  #pause(delayMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#deps.ports.timers.after(delayMs, resolve)
    const wake = (): void => {
      cancel()
      resolve()
    }
    this.#enter({ phase: "backing_off", wake })
    return promise
  }

  /** LK3 */
  #giveUp(outcome: AttemptOutcome): void {
    this.#note(outcome, null)
    if (outcome.kind !== "rejected") return
    this.#enter({ phase: "refused" })
    this.#deps.lease.end()
    this.#deps.rejected(outcome.error)
  }

  #note(outcome: AttemptOutcome, retryInMs: number | null): void {
    const detail = describe(outcome)
    if (outcome.kind !== "stopped") this.#lastError = detail
    this.#deps.journal.record({ event: "link_ended", outcome: outcome.kind, detail, retryInMs })
  }

  #isStopped(): boolean {
    return this.#phase.phase === "stopped"
  }

  #enter(next: Phase): void {
    if (this.#isStopped()) return
    if (stateOf(next) !== stateOf(this.#phase)) this.#sinceMs = this.#deps.ports.clock.wallMs()
    this.#phase = next
  }
}
