/**
 * Follows the events of a Session over as many connections as it takes.
 *
 * F1 every event once and in order: a new connection begins after the last event, and none is given twice
 * F2 it ends after the last event of the Session, when it is aborted, and when its reader stops
 * F3 a refusal that will not pass, such as that of a revoked key, ends it with that error
 * F4 it gives up when there was no sign of life for its time, or will be none because the server asks for a longer pause
 */
import type { HelmrError } from "../../error.ts"
import { HelmrConnectionError } from "../errors.ts"
import { positiveMs } from "../options.ts"
import { linked, pause } from "../transport/deadline.ts"
import { backoffMs, mayPass } from "../transport/retry.ts"
import { apiError, type Transport } from "../transport/transport.ts"
import { openStream, type Place } from "./connection.ts"
import type { SessionEvent } from "./types.ts"

export interface Following extends Place {
  /** Each of them ends it. */
  readonly signals: readonly (AbortSignal | undefined)[]
  /** F4 */
  readonly giveUpAfterMs: number
  readonly onLost: ((error: HelmrError) => void) | undefined
}

interface Cut {
  /** What it ends with when this was the last attempt. */
  readonly error: HelmrError
  readonly retryAfterMs: number
}

const unexpected = (message: string): HelmrConnectionError =>
  new HelmrConnectionError("unexpected_answer", `the event stream: ${message}`)

const cut = (message: string): Cut => ({
  error: new HelmrConnectionError("unreachable", `the event stream has no connection: ${message}`),
  retryAfterMs: 0,
})

export const follow = async function* (
  following: Following,
  transport: Transport,
): AsyncGenerator<SessionEvent> {
  const { signals, giveUpAfterMs, onLost, ...place } = following
  positiveMs("giveUpAfterMs", giveUpAfterMs)
  const { ports } = transport
  const end = linked(signals)
  let { after } = place
  let sequence = 0
  let failures = 0
  let aliveAtMs = ports.now()

  /** The events of one connection; what it left behind. */
  const connect = async function* (): AsyncGenerator<SessionEvent, "over" | Cut> {
    const opened = await openStream({ ...place, after }, end.signal, transport)
    if (opened.kind === "unexpected") throw unexpected(opened.message)
    if (opened.kind === "refused") {
      const error = apiError(opened.refusal)
      if (!mayPass(opened)) throw error
      return { error, retryAfterMs: opened.refusal.retryAfterMs ?? 0 }
    }
    if (opened.kind === "unreachable") return cut(opened.message)
    if (opened.value.kind === "over") return "over"
    for await (const found of opened.value.signals) {
      if (end.signal.aborted) break
      failures = 0
      aliveAtMs = ports.now()
      if (found.kind === "life") continue
      if (found.kind === "malformed") throw unexpected(found.message)
      const at = found.kind === "event" ? found.event : found
      if (at.sequence <= sequence) continue
      sequence = at.sequence
      after = at.cursor
      if (found.kind === "event") {
        yield found.event
        // F2: the descendants have closed before it.
        if (found.event.type === "session_closed" && found.event.sessionId === place.sessionId) return "over"
      }
      // The reader may have taken its time.
      aliveAtMs = ports.now()
    }
    return cut("it was cut")
  }

  try {
    while (!end.signal.aborted) {
      const left = yield* connect()
      if (left === "over" || end.signal.aborted) return
      failures += 1
      if (ports.now() - aliveAtMs + left.retryAfterMs > giveUpAfterMs) throw left.error
      onLost?.(left.error)
      const delayMs = Math.max(left.retryAfterMs, backoffMs(failures, ports.random()))
      await pause(delayMs, end.signal, ports)
    }
  } finally {
    end.release()
  }
}
