/** Stands for the machine's clock and timers: time passes only when a test says so. */
import { createRunningTime } from "@computerd/protocol/running-time"
import type { Clock, Ports, Timers } from "@computerd/supervisor/ports"

interface Timer {
  readonly atMs: number
  readonly fire: () => void
}

export interface FakeClock {
  readonly clock: Clock
  readonly timers: Timers
  readonly onPause: Ports["onPause"]
  /** Lets time pass and fires what is due, in order. */
  readonly advance: (ms: number) => void
  /** Lets time pass while nothing of this process runs: what became due fires late, afterwards. */
  readonly pause: (ms: number) => void
  /** Moves the wall clock alone. */
  readonly leap: (ms: number) => void
  readonly pending: () => number
}

export const fakeClock = (): FakeClock => {
  let nowMs = 1_000_000
  let wallOffsetMs = 1_700_000_000_000
  const due = new Set<Timer>()
  const idle = new Set<Timer>()

  const setIn =
    (timers: Set<Timer>) =>
    (delayMs: number, fire: () => void): (() => void) => {
      const timer = { atMs: nowMs + Math.max(0, delayMs), fire }
      timers.add(timer)
      return () => timers.delete(timer)
    }

  const next = (untilMs: number): Timer | undefined =>
    [...idle, ...due].filter((timer) => timer.atMs <= untilMs).toSorted((a, b) => a.atMs - b.atMs)[0]

  const fireUntil = (untilMs: number, move: boolean): void => {
    for (let timer = next(untilMs); timer !== undefined; timer = next(untilMs)) {
      due.delete(timer)
      idle.delete(timer)
      if (move) nowMs = Math.max(nowMs, timer.atMs)
      timer.fire()
    }
  }

  const { runningMs, after, every, onPause } = createRunningTime({
    elapsedMs: () => nowMs,
    setTimer: setIn(due),
    setIdleTimer: setIn(idle),
  })

  return {
    clock: { wallMs: () => nowMs + wallOffsetMs, monotonicMs: runningMs, elapsedMs: () => nowMs },
    timers: { after, every },
    onPause,
    advance: (ms) => {
      const untilMs = nowMs + ms
      fireUntil(untilMs, true)
      nowMs = untilMs
    },
    pause: (ms) => {
      nowMs += ms
      fireUntil(nowMs, false)
    },
    leap: (ms) => {
      wallOffsetMs += ms
    },
    pending: () => due.size,
  }
}
