/**
 * Follows the events of a Session over as many connections as it takes.
 *
 * F1 every event once and in order: a new connection begins after the last event, and none is given twice
 * F2 it ends after the last event of the Session, when it is aborted, and when its reader stops
 * F3 a refusal that will not pass, such as that of a revoked key, ends it with that error
 * F4 it gives up when there was no sign of life for its time
 */
import { HelmrConnectionError } from "../errors.ts"
import { pause } from "../transport/deadline.ts"
import { backoffMs, mayPass } from "../transport/retry.ts"
import { apiError, type Transport } from "../transport/transport.ts"
import { openStream, type Place } from "./connection.ts"
import type { SessionEvent } from "./types.ts"

export interface Following extends Place {
  readonly signal: AbortSignal
  /** F4 */
  readonly giveUpAfterMs: number
}

interface Cut {
  readonly message: string
  readonly retryAfterMs: number
}

const unexpected = (message: string): HelmrConnectionError =>
  new HelmrConnectionError("unexpected_answer", `the event stream: ${message}`)

export const follow = async function* (
  following: Following,
  transport: Transport,
): AsyncGenerator<SessionEvent> {
  const { signal, giveUpAfterMs, ...place } = following
  const { ports } = transport
  let { after } = place
  let sequence = 0
  let failures = 0
  let aliveAtMs = ports.now()

  /** The events of one connection; what it left behind. */
  const connect = async function* (): AsyncGenerator<SessionEvent, "over" | Cut> {
    const opened = await openStream({ ...place, after }, signal, transport)
    if (opened.kind === "unexpected") throw unexpected(opened.message)
    if (opened.kind === "refused") {
      if (!mayPass(opened)) throw apiError(opened.refusal)
      return { message: opened.refusal.message, retryAfterMs: opened.refusal.retryAfterMs ?? 0 }
    }
    if (opened.kind === "unreachable") return { message: opened.message, retryAfterMs: 0 }
    if (opened.value.kind === "over") return "over"
    for await (const found of opened.value.signals) {
      failures = 0
      aliveAtMs = ports.now()
      if (found.kind === "life") continue
      if (found.kind === "malformed") throw unexpected(found.message)
      const at = found.kind === "event" ? found.event : found
      if (at.sequence <= sequence) continue
      sequence = at.sequence
      after = at.cursor
      if (found.kind === "event") yield found.event
      // The reader may have taken its time.
      aliveAtMs = ports.now()
    }
    return { message: "the connection was cut", retryAfterMs: 0 }
  }

  while (!signal.aborted) {
    const left = yield* connect()
    if (left === "over" || signal.aborted) return
    failures += 1
    if (ports.now() - aliveAtMs > giveUpAfterMs)
      throw new HelmrConnectionError(
        "unreachable",
        `the event stream had no connection for ${giveUpAfterMs} ms: ${left.message}`,
      )
    await pause(Math.max(left.retryAfterMs, backoffMs(failures, ports.random())), signal, ports)
  }
}
