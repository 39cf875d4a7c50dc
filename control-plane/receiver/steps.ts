/**
 * Leaps of the wall clock, and pauses of this process, as seen from what the store measures in wall time: leases and idle
 * times. They are moved by as much as the clock, so that they have left what they had.
 *
 * CS1 a leap makes no lease lapse and keeps none; after a pause of its own this process lets supervisors renew first
 * CS2 nothing that waits in the store is due early for a leap forward, or late for one back; what is kept for days, by
 *     the calendar, is not moved
 */
import type { Ports } from "../ports.ts"
import type { Store } from "../store/open.ts"

export interface StepsDeps {
  readonly store: Store
  readonly ports: Ports
  readonly moved: (byMs: number) => void
}

/** A clock that is set right in small slews is followed; less than this matters to nothing here. */
const stepMinMs = 1_000

/** Call what it returns before anything is decided by the wall clock, outside a transaction. */
export const createSteps = ({ store, ports, moved }: StepsDeps): (() => void) => {
  /** How far the wall clock is ahead of the time that passed here. */
  const ahead = (): number => ports.now() - ports.runningMs()
  let known = ahead()

  const move = (byMs: number): void => {
    store.transaction(() => {
      store.tables.computers.moveTimes(byMs)
      store.tables.sessions.moveTimes(byMs)
    })
    known += byMs
    moved(byMs)
    ports.journal.record({ type: "clock_moved", byMs })
  }

  return () => {
    const byMs = Math.round(ahead() - known)
    if (Math.abs(byMs) < stepMinMs) {
      known += byMs
      return
    }
    try {
      move(byMs)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      ports.journal.record({ type: "task_failed", task: "follow the clock", message })
    }
  }
}
