/** Bounded waits. A timer that is not needed any more is cancelled at once. */
import type { Ports } from "../../ports.ts"

type Timers = Pick<Ports, "after">

/** The value, or `late` when it takes longer; the work itself goes on. */
export const within = async <Value>(
  work: Promise<Value>,
  limitMs: number,
  ports: Timers,
): Promise<Value | "late"> => {
  const { promise, resolve } = Promise.withResolvers<"late">()
  const cancel = ports.after(limitMs, () => resolve("late"))
  try {
    return await Promise.race([work, promise])
  } finally {
    cancel()
  }
}

/** Resolves after the delay, or at once when the signal aborts. */
export const pause = async (delayMs: number, signal: AbortSignal, ports: Timers): Promise<void> => {
  if (signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = ports.after(delayMs, resolve)
  const wake = (): void => resolve()
  signal.addEventListener("abort", wake, { once: true })
  await promise
  cancel()
  signal.removeEventListener("abort", wake)
}
