/**
 * The only door to clock, timers and randomness. Everything whose behaviour depends on one of them is handed these
 * ports, so that a test or a simulation can hand it others.
 */
import { idSource, type NewId } from "@computerd/protocol/ids"
import { type Cancel, createRunningTime } from "@computerd/protocol/running-time"
import { boottime } from "./boottime.ts"
import type { Reach } from "./crash-points.ts"

export type { Cancel }

export interface Clock {
  /** Milliseconds since 1970. May leap in both directions; for records and events only. */
  readonly wallMs: () => number
  /**
   * Milliseconds since the machine was started in which this process ran. Never goes back, and stands still while the
   * process is stopped or the machine suspended; for every duration and deadline but those of the lease.
   */
  readonly monotonicMs: () => number
  /** Milliseconds since the machine was started, stops and suspensions included: what the lease is counted in. */
  readonly elapsedMs: () => number
}

/** In the time of `monotonicMs`. */
export interface Timers {
  readonly after: (delayMs: number, fire: () => void) => Cancel
  readonly every: (periodMs: number, fire: () => void) => Cancel
}

export interface Ports {
  readonly clock: Clock
  readonly timers: Timers
  /** Hears of each pause of this process or its machine once it is over. */
  readonly onPause: (listener: (gapMs: number) => void) => Cancel
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

const setTimer = (delayMs: number, fire: () => void): Cancel => {
  const timer = setTimeout(fire, delayMs)
  return () => clearTimeout(timer)
}

const setIdleTimer = (delayMs: number, fire: () => void): Cancel => {
  const timer = setTimeout(fire, delayMs)
  timer.unref()
  return () => clearTimeout(timer)
}

/** A timer of no delay that has not fired in this time, and in so many turns of the event loop after it, is dead. */
const canaryMs = 5_000
const canaryTurns = 100

/**
 * Whether timers fire at all: there are machines on which they stop for ever with a suspension. The event loop is turned
 * without them, for the millisecond that a living one needs.
 */
export const timersLive = ({ elapsedMs }: Pick<Clock, "elapsedMs">): Promise<boolean> =>
  new Promise((resolve) => {
    const untilMs = elapsedMs() + canaryMs
    let turns = 0
    let isAlive = false
    setTimer(0, () => {
      isAlive = true
    })
    const turn = (): void => {
      if (elapsedMs() > untilMs) turns += 1
      if (isAlive || turns >= canaryTurns) resolve(isAlive)
      else setImmediate(turn)
    }
    setImmediate(turn)
  })

const goOn: Reach = () => undefined

export const systemPorts = (
  environment: Readonly<Record<string, string | undefined>>,
  reach: Reach = goOn,
): Ports => {
  const elapsedMs = boottime(() => performance.now())
  const { runningMs, after, every, onPause } = createRunningTime({ elapsedMs, setTimer, setIdleTimer })
  return {
    clock: { wallMs: () => Date.now(), monotonicMs: runningMs, elapsedMs },
    timers: { after, every },
    onPause,
    newId: idSource(() => Bun.randomUUIDv7()),
    randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
    random: () => Math.random(),
    environment,
    reach,
  }
}

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
