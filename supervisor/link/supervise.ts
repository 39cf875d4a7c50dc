/**
 * Holds the control-plane link for as long as the supervisor lives: dials, and redials for ever with backoff, until
 * it is stopped or refused for good.
 *
 * LK3 `superseded`, `unauthorized` and `unsupported_protocol` are final: the lease ends and Session processes stop
 */
import type { Failure } from "@computerd/protocol/errors"
import { linkPath } from "@computerd/protocol/link"
import { type Cancel, within } from "../ports.ts"
import { backoffMs } from "./backoff.ts"
import { type Connection, createConnection } from "./connection.ts"
import type { Link, LinkDeps, LinkState, LinkStatus } from "./link.ts"
import { type AttemptOutcome, describe, refusal, sequel } from "./outcome.ts"
import { refusedUpgrade } from "./upgrade.ts"

/** How long a detach waits for the socket's end. */
const closeMs = 2_000
const flushPollMs = 20

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

export const createLink = (deps: LinkDeps): Link => {
  const { ports, journal, lease, outbox } = deps
  const url = linkUrl(deps.controlPlaneUrl)
  let phase: Phase = { phase: "idle" }
  let sinceMs = ports.clock.wallMs()
  let failures = 0
  let lastError: string | undefined
  let running: Promise<void> = Promise.resolve()

  const stopped = (): boolean => phase.phase === "stopped"

  const enter = (next: Phase): void => {
    if (stopped()) return
    if (stateOf(next) !== stateOf(phase)) sinceMs = ports.clock.wallMs()
    phase = next
  }

  /** While the lease is held the credential may be one that is just being replaced; after that it is a dead one. */
  const unknownCredential = (error: Failure): AttemptOutcome =>
    lease.state().state === "held" ? { kind: "refused", error } : refusal(error)

  const connect = async (): Promise<AttemptOutcome> => {
    const credential = deps.credential()
    if (!credential.ok) return { kind: "unreachable", detail: credential.error.message }
    const connection = createConnection({
      deps,
      url,
      credential: credential.value,
      attached: () => {
        failures = 0
        lastError = undefined
        enter({ phase: "attached", connection })
      },
    })
    enter({ phase: "connecting", connection })
    const outcome = await connection.ended
    if (outcome.kind !== "unreachable" || stopped()) return outcome
    const refused = await refusedUpgrade(url, credential.value)
    return refused === undefined ? outcome : unknownCredential(refused)
  }

  /** The loop gets outcomes, not exceptions. */
  const attempt = async (): Promise<AttemptOutcome> => {
    try {
      return await connect()
    } catch (error) {
      return { kind: "faulted", detail: error instanceof Error ? error.message : String(error) }
    }
  }

  const pause = (delayMs: number): Promise<void> =>
    new Promise((resolve) => {
      const cancel: Cancel = ports.timers.after(delayMs, resolve)
      enter({
        phase: "backing_off",
        wake: () => {
          cancel()
          resolve()
        },
      })
    })

  const note = (outcome: AttemptOutcome, retryInMs: number | null): void => {
    const detail = describe(outcome)
    if (outcome.kind !== "stopped") lastError = detail
    journal.record({ event: "link_ended", outcome: outcome.kind, detail, retryInMs })
  }

  const giveUp = (outcome: AttemptOutcome): void => {
    note(outcome, null)
    if (outcome.kind !== "rejected") return
    enter({ phase: "refused" })
    lease.end()
    deps.rejected(outcome.error)
  }

  const run = async (): Promise<void> => {
    while (!stopped()) {
      const outcome = await attempt()
      if (stopped()) return note({ kind: "stopped" }, null)
      const next = sequel(outcome)
      if (next === "stop") return giveUp(outcome)
      failures = next === "redial_afresh" ? 1 : failures + 1
      const delayMs = backoffMs(failures, ports.random())
      note(outcome, delayMs)
      await pause(delayMs)
    }
  }

  const connection = (): Connection | undefined =>
    phase.phase === "attached" || phase.phase === "connecting" ? phase.connection : undefined

  const status = (): LinkStatus => ({ state: stateOf(phase), url, sinceMs, attempts: failures, lastError })

  /** Without a link nothing can be flushed: what is left is durable and goes out after the next start. */
  const flush = async (limitMs: number): Promise<boolean> => {
    const untilMs = ports.clock.monotonicMs() + limitMs
    while (outbox.unacknowledged() > 0) {
      if (phase.phase !== "attached" || ports.clock.monotonicMs() >= untilMs) return false
      await new Promise<void>((resolve) => ports.timers.after(flushPollMs, resolve))
    }
    return true
  }

  const end = (): void => {
    const last = phase
    phase = { phase: "stopped" }
    if (last.phase === "backing_off") last.wake()
    if (last.phase === "attached") last.connection.send({ kind: "detach" })
    if (last.phase === "attached" || last.phase === "connecting") last.connection.stop()
    lease.end()
  }

  return {
    start: () => {
      running = run()
    },
    status,
    send: (frame) => phase.phase === "attached" && phase.connection.send(frame),
    pump: () => connection()?.pump(),
    flush,
    close: async () => {
      end()
      await within(ports.timers, closeMs, running)
    },
  }
}
