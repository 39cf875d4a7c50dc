/**
 * What is looked at after this process, or its machine, did not run for a while: the lease, which ran on; the connection,
 * whose other end may be gone; and whether timers still fire.
 */
import type { Journal } from "./journal.ts"
import type { Lease } from "./link/lease.ts"
import type { Link } from "./link/link.ts"
import { type Cancel, type Ports, timersLive } from "./ports.ts"

export interface PausesDeps {
  readonly ports: Pick<Ports, "clock" | "onPause">
  readonly journal: Journal
  readonly lease: Pick<Lease, "look">
  readonly link: Pick<Link, "verify">
  /** Nothing that waits will ever go on in this process. */
  readonly timersDead: () => void
}

export const watchPauses = ({ ports, journal, lease, link, timersDead }: PausesDeps): Cancel => {
  const lookAtTimers = async (): Promise<void> => {
    if (await timersLive(ports.clock)) return
    journal.record({ event: "timers_dead" })
    timersDead()
  }
  return ports.onPause((gapMs) => {
    journal.record({ event: "resumed_after_pause", gapMs: Math.round(gapMs) })
    lease.look()
    link.verify()
    void lookAtTimers()
  })
}
