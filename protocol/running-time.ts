/**
 * Time in which a process ran. One that is stopped, or whose machine is suspended, neither works nor hears of anybody,
 * so a pause is held against nobody: deadlines are measured in running time.
 *
 * RT1 a timer never fires before its delay has passed in running time, and one whose pause is over goes on with the rest
 * RT2 a pause is noticed before anything is judged by the time that passed in it
 */

export type Cancel = () => void

/** What the machine offers. */
export interface RawTime {
  /** Milliseconds since some start, pauses included; never goes back. */
  readonly elapsedMs: () => number
  /** As `setTimeout`, which may fire late, and at once after a pause. */
  readonly setTimer: (delayMs: number, fire: () => void) => Cancel
  /** As `setTimer`; a timer that keeps no process alive. */
  readonly setIdleTimer: (delayMs: number, fire: () => void) => Cancel
}

export interface RunningTime {
  /** Milliseconds in which this process ran, from the same start as `elapsedMs`; never goes back. */
  readonly runningMs: () => number
  /** Runs once. */
  readonly after: (delayMs: number, fire: () => void) => Cancel
  readonly every: (periodMs: number, fire: () => void) => Cancel
  /** Hears of each pause soon after its end, once. */
  readonly onPause: (listener: (gapMs: number) => void) => Cancel
}

/** Shows that the process runs, while a timer is pending; a few wake-ups a second cost nothing that can be measured. */
const beatMs = 250
/** A gap of this length is a pause; shorter ones are a busy machine, and count as running time. */
export const pauseMinMs = 1_000
/** The longest delay that `setTimeout` keeps; it would fire a longer one at once. */
const timerMaxMs = 2_147_483_647
/** Timers may fire this much early, since they count whole milliseconds. */
const timerGrainMs = 1

export const createRunningTime = ({ elapsedMs, setTimer, setIdleTimer }: RawTime): RunningTime => {
  const listeners = new Set<(gapMs: number) => void>()
  let seenMs = elapsedMs()
  let pausedMs = 0
  let pending = 0
  let stopBeating: Cancel | undefined

  const tell = (gapMs: number): void => {
    for (const listener of [...listeners]) listener(gapMs)
  }

  /** RT2. Without a heartbeat nothing waits, and silence is no sign of a pause. */
  const look = (): number => {
    const nowMs = elapsedMs()
    const gapMs = nowMs - seenMs
    seenMs = nowMs
    if (stopBeating !== undefined && gapMs >= pauseMinMs) {
      pausedMs += gapMs
      queueMicrotask(() => tell(gapMs))
    }
    return nowMs - pausedMs
  }

  const beat = (): void => {
    look()
    stopBeating = setIdleTimer(beatMs, beat)
  }

  const begin = (): void => {
    pending += 1
    if (pending > 1) return
    look()
    beat()
  }

  const end = (): void => {
    pending -= 1
    if (pending > 0) return
    stopBeating?.()
    stopBeating = undefined
  }

  const after: RunningTime["after"] = (delayMs, fire) => {
    begin()
    const dueMs = look() + Math.max(0, delayMs)
    let state: "waiting" | "over" = "waiting"
    const arm = (leftMs: number): Cancel => setTimer(Math.min(Math.ceil(leftMs), timerMaxMs), check)
    const finish = (): void => {
      state = "over"
      end()
    }
    /** RT1 */
    const check = (): void => {
      if (state === "over") return
      const leftMs = dueMs - look()
      if (leftMs >= timerGrainMs) {
        stop = arm(leftMs)
        return
      }
      finish()
      fire()
    }
    let stop = arm(Math.max(0, delayMs))
    return () => {
      if (state === "over") return
      stop()
      finish()
    }
  }

  return {
    runningMs: look,
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
    onPause: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
