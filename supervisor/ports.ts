/**
 * The only door to clock, timers and randomness. Everything whose behaviour depends on one of them is handed these
 * ports, so that a test or a simulation can hand it others.
 */
import { idSource, type NewId } from "@computerd/protocol/ids"
import type { Reach } from "./crash-points.ts"

export interface Clock {
  /** Milliseconds since 1970. May leap in both directions; for records and events only. */
  readonly wallMs: () => number
  /** Milliseconds since some start. Never goes back; for every duration and deadline. */
  readonly monotonicMs: () => number
}

/** Ends a timer; calling it again does nothing. */
export type Cancel = () => void

export interface Timers {
  readonly after: (delayMs: number, fire: () => void) => Cancel
  readonly every: (periodMs: number, fire: () => void) => Cancel
}

export interface Ports {
  readonly clock: Clock
  readonly timers: Timers
  readonly newId: NewId
  /** Drawn from the kernel at each call, so that a restored machine does not repeat itself. */
  readonly randomBytes: (count: number) => Uint8Array
  /** In [0, 1): jitter. */
  readonly random: () => number
  /** The environment this process was started with. Only the allow-list of `process/environment.ts` reads it. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Told of every crash point; a test may let this process die there. */
  readonly reach: Reach
}

/** The longest delay that `setTimeout` keeps; it would fire a longer one at once. */
const timerMaxMs = 2_147_483_647

const after = (delayMs: number, fire: () => void): Cancel => {
  const timer = setTimeout(fire, Math.min(Math.max(0, delayMs), timerMaxMs))
  return () => clearTimeout(timer)
}

const every = (periodMs: number, fire: () => void): Cancel => {
  const timer = setInterval(fire, periodMs)
  return () => clearInterval(timer)
}

const goOn: Reach = () => undefined

export const systemPorts = (
  environment: Readonly<Record<string, string | undefined>>,
  reach: Reach = goOn,
): Ports => ({
  clock: { wallMs: () => Date.now(), monotonicMs: () => performance.now() },
  timers: { after, every },
  newId: idSource(() => Bun.randomUUIDv7()),
  randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
  random: () => Math.random(),
  environment,
  reach,
})

/** Resolves to `"timeout"` when `work` has not settled in time. The work goes on; only the wait ends. */
export const within = async <Value>(
  timers: Timers,
  limitMs: number,
  work: Promise<Value>,
): Promise<Value | "timeout"> => {
  let cancel: Cancel = () => undefined
  const limit = new Promise<"timeout">((resolve) => {
    cancel = timers.after(limitMs, () => resolve("timeout"))
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    cancel()
  }
}
