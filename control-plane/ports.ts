/** The control plane's only door to clock, timers, ids and randomness. Everything else takes them as arguments. */
import { idSource, type NewId } from "@computerd/protocol/ids"
import type { Reach } from "./crash-points.ts"
import type { Journal } from "./journal.ts"

export type CancelTimer = () => void

export interface Ports {
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
  readonly newId: NewId
  readonly randomBytes: (count: number) => Uint8Array
  /** Runs once; the returned function forgets it. A pending timer keeps no process alive. */
  readonly after: (delayMs: number, run: () => void) => CancelTimer
  /** Runs at the end of the current turn of the event loop; used to gather work that arrived together. */
  readonly soon: (run: () => void) => void
  readonly journal: Journal
  /** Told of every crash point; a test may let this process die there. */
  readonly reach: Reach
}

/** The largest delay that a timer can hold; longer ones are set again when it fires. */
export const timerMaxMs = 2_147_483_647

const goOn: Reach = () => undefined

export const systemPorts = (journal: Journal, reach: Reach = goOn): Ports => ({
  now: () => Date.now(),
  newId: idSource(() => Bun.randomUUIDv7()),
  randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
  after: (delayMs, run) => {
    const timer = setTimeout(run, Math.min(Math.max(delayMs, 0), timerMaxMs))
    timer.unref()
    return () => clearTimeout(timer)
  },
  soon: (run) => {
    setImmediate(run)
  },
  journal,
  reach,
})
