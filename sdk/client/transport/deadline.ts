/** One signal for everything that may end a wait: the caller, the client, the time. Timers and listeners go with `release`. */
import type { Ports } from "../ports.ts"

export interface Linked {
  /** Aborts with the first of them, for its reason. */
  readonly signal: AbortSignal
  readonly abort: (reason: unknown) => void
  readonly release: () => void
}

/** Unlike `AbortSignal.any`, it leaves nothing behind with signals that outlive it. */
export const linked = (signals: readonly (AbortSignal | undefined)[]): Linked => {
  const controller = new AbortController()
  const follow = signals.flatMap((signal) => {
    if (signal === undefined) return []
    const end = (): void => controller.abort(signal.reason)
    if (signal.aborted) end()
    else signal.addEventListener("abort", end, { once: true })
    return [() => signal.removeEventListener("abort", end)]
  })
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    release: () => {
      for (const forget of follow) forget()
    },
  }
}

export interface Deadline {
  readonly signal: AbortSignal
  /** Whether the time is what ended it. */
  readonly expired: () => boolean
  readonly remainingMs: () => number
  readonly release: () => void
}

export const deadline = (
  timeoutMs: number,
  signals: readonly (AbortSignal | undefined)[],
  ports: Pick<Ports, "now" | "after">,
): Deadline => {
  const { signal, abort, release } = linked(signals)
  const endsAtMs = ports.now() + timeoutMs
  let expired = false
  const stopTimer = ports.after(timeoutMs, () => {
    expired = !signal.aborted
    abort(new DOMException("the time is over", "TimeoutError"))
  })
  return {
    signal,
    expired: () => expired,
    remainingMs: () => Math.max(0, endsAtMs - ports.now()),
    release: () => {
      stopTimer()
      release()
    },
  }
}

/** Resolves after the delay, or as soon as the signal aborts. */
export const pause = (delayMs: number, signal: AbortSignal, ports: Pick<Ports, "after">): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      stopTimer()
      signal.removeEventListener("abort", end)
      resolve()
    }
    const stopTimer = ports.after(delayMs, end)
    if (signal.aborted) end()
    else signal.addEventListener("abort", end, { once: true })
  })
