/** The control plane's only door to clock, timers, ids and randomness. Everything else takes them as arguments. */
import { idSource, type NewId } from "@computerd/protocol/ids"
import { createRunningTime } from "@computerd/protocol/running-time"
import type { Reach } from "./crash-points.ts"
import type { Journal } from "./journal.ts"

export type CancelTimer = () => void

export interface Ports {
  /** Wall clock, milliseconds since 1970. May leap in both directions; for records, and for due times in the store. */
  readonly now: () => number
  /** Milliseconds in which this process ran; for every deadline in memory. */
  readonly runningMs: () => number
  readonly newId: NewId
  readonly randomBytes: (count: number) => Uint8Array
  /** Runs once, in the time of `runningMs`; the returned function forgets it. A pending timer keeps no process alive. */
  readonly after: (delayMs: number, run: () => void) => CancelTimer
  /** Runs at the end of the current turn of the event loop; used to gather work that arrived together. */
  readonly soon: (run: () => void) => void
  readonly journal: Journal
  /** Told of every crash point; a test may let this process die there. */
  readonly reach: Reach
}

const setTimer = (delayMs: number, run: () => void): CancelTimer => {
  const timer = setTimeout(run, delayMs)
  timer.unref()
  return () => clearTimeout(timer)
}

const runningTime = (): Pick<Ports, "runningMs" | "after"> => {
  const elapsedMs = (): number => performance.now()
  const { runningMs, after } = createRunningTime({ elapsedMs, setTimer, setIdleTimer: setTimer })
  return { runningMs, after }
}

const goOn: Reach = () => undefined

export const systemPorts = (journal: Journal, reach: Reach = goOn): Ports => ({
  now: () => Date.now(),
  ...runningTime(),
  newId: idSource(() => Bun.randomUUIDv7()),
  randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
  soon: (run) => {
    setImmediate(run)
  },
  journal,
  reach,
})
