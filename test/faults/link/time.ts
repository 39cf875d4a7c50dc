/**
 * Virtual time: a queue of what is to happen, and machines that can be stopped in it. Nothing waits for real; the next
 * thing to happen is the earliest that its machine can take.
 */

export type Cancel = () => void

interface Due {
  readonly order: number
  readonly machine: Machine | undefined
  /** In the time of the machine where `inRunningTime` says so: a stop moves it. */
  readonly atMs: number
  readonly inRunningTime: boolean
  readonly run: () => void
}

/** One process on its machine, as far as time is concerned. */
export class Machine {
  /** How far its wall clock is off. */
  leapMs = 0
  /** Time that passed while it was stopped. */
  #stoppedMs = 0
  #stoppedAt: number | undefined
  readonly #pauseListeners = new Set<(gapMs: number) => void>()

  get isStopped(): boolean {
    return this.#stoppedAt !== undefined
  }

  get stoppedMs(): number {
    return this.#stoppedMs
  }

  runningMs(nowMs: number): number {
    return (this.#stoppedAt ?? nowMs) - this.#stoppedMs
  }

  stop(nowMs: number): void {
    this.#stoppedAt ??= nowMs
  }

  goOn(nowMs: number): void {
    if (this.#stoppedAt === undefined) return
    const gapMs = nowMs - this.#stoppedAt
    this.#stoppedMs += gapMs
    this.#stoppedAt = undefined
    for (const listener of [...this.#pauseListeners]) listener(gapMs)
  }

  onPause(listener: (gapMs: number) => void): Cancel {
    this.#pauseListeners.add(listener)
    return () => this.#pauseListeners.delete(listener)
  }
}

/** All clocks start here, so that wall clock times look like such. */
export const epochMs = 1_700_000_000_000

export class Time {
  nowMs = 0
  #order = 0
  readonly #due = new Set<Due>()

  /** Something of the world, or of a machine that cannot take it while it is stopped. */
  after(delayMs: number, run: () => void, machine?: Machine): Cancel {
    return this.#add({ machine, atMs: this.nowMs + Math.max(0, delayMs), inRunningTime: false, run })
  }

  /** A timer of the machine: it counts the time in which the machine runs. */
  timer(machine: Machine, delayMs: number, run: () => void): Cancel {
    const atMs = machine.runningMs(this.nowMs) + Math.max(0, delayMs)
    return this.#add({ machine, atMs, inRunningTime: true, run })
  }

  /** What a dead process would have done. */
  forget(machine: Machine): void {
    for (const due of this.#due) if (due.machine === machine) this.#due.delete(due)
  }

  pending(machine: Machine): number {
    let count = 0
    for (const due of this.#due) if (due.machine === machine) count += 1
    return count
  }

  /** Takes the next thing that happens no later than `untilMs` and lets it happen; false when there is none. */
  step(untilMs: number): boolean {
    let next: Due | undefined
    let nextAt = Number.POSITIVE_INFINITY
    for (const due of this.#due) {
      if (due.machine?.isStopped === true) continue
      const at = due.inRunningTime ? due.atMs + (due.machine?.stoppedMs ?? 0) : due.atMs
      if (at < nextAt || (at === nextAt && next !== undefined && due.order < next.order)) {
        next = due
        nextAt = at
      }
    }
    if (next === undefined || nextAt > untilMs) {
      this.nowMs = Math.max(this.nowMs, untilMs)
      return false
    }
    this.#due.delete(next)
    this.nowMs = Math.max(this.nowMs, nextAt)
    next.run()
    return true
  }

  #add(due: Omit<Due, "order">): Cancel {
    this.#order += 1
    const entry = { ...due, order: this.#order }
    this.#due.add(entry)
    return () => this.#due.delete(entry)
  }
}
