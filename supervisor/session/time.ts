/**
 * The time of Session processes: it stands still while they are frozen, so that neither a limit that they are held to
 * nor a wait of theirs runs out meanwhile.
 */
import type { Cancel, Clock, Timers } from "../ports.ts"

export interface SessionTime {
  readonly clock: Pick<Clock, "monotonicMs">
  readonly timers: Timers
  readonly stop: () => void
  readonly go: () => void
}

interface Waiting {
  leftMs: number
  cancel: Cancel
  readonly fire: () => void
}

export interface SessionTimeDeps {
  readonly clock: Pick<Clock, "monotonicMs">
  readonly timers: Timers
}

export const createSessionTime = ({ clock, timers }: SessionTimeDeps): SessionTime => {
  const waiting = new Set<Waiting>()
  let stoodMs = 0
  let stoppedAtMs: number | undefined

  const nowMs = (): number => (stoppedAtMs ?? clock.monotonicMs()) - stoodMs

  const arm = (one: Waiting): void => {
    const dueMs = nowMs() + one.leftMs
    const cancel = timers.after(one.leftMs, () => {
      waiting.delete(one)
      one.fire()
    })
    one.cancel = () => {
      cancel()
      one.leftMs = Math.max(0, dueMs - nowMs())
    }
  }

  const after: Timers["after"] = (delayMs, fire) => {
    const one: Waiting = { leftMs: Math.max(0, delayMs), cancel: () => undefined, fire }
    waiting.add(one)
    if (stoppedAtMs === undefined) arm(one)
    return () => {
      if (waiting.delete(one)) one.cancel()
    }
  }

  return {
    clock: { monotonicMs: nowMs },
    timers: {
      after,
      every: (periodMs, fire) => {
        let stop: Cancel
        const again = (): void => {
          stop = after(periodMs, () => {
            again()
            fire()
          })
        }
        again()
        return () => stop()
      },
    },
    stop: () => {
      if (stoppedAtMs !== undefined) return
      stoppedAtMs = clock.monotonicMs()
      for (const one of waiting) one.cancel()
    },
    go: () => {
      if (stoppedAtMs === undefined) return
      stoodMs += clock.monotonicMs() - stoppedAtMs
      stoppedAtMs = undefined
      for (const one of waiting) arm(one)
    },
  }
}
