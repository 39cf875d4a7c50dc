/** One signal for everything that may end a wait: the caller, the client, the time. Timers and listeners go with `release`. */
import type { Ports } from "../ports.ts"

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
  const controller = new AbortController()
  const endsAtMs = ports.now() + timeoutMs
  let expired = false
  const stopTimer = ports.after(timeoutMs, () => {
    expired = true
    controller.abort(new DOMException("the time is over", "TimeoutError"))
  })
  const given = signals.filter((signal) => signal !== undefined)
  const follow = given.map((signal) => {
    const end = (): void => controller.abort(signal.reason)
    if (signal.aborted) end()
    else signal.addEventListener("abort", end, { once: true })
    return () => signal.removeEventListener("abort", end)
  })
  return {
    signal: controller.signal,
    expired: () => expired,
    remainingMs: () => Math.max(0, endsAtMs - ports.now()),
    release: () => {
      stopTimer()
      for (const forget of follow) forget()
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
