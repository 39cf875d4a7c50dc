/** The command's door to clock and timers. */
export interface Ports {
  readonly now: () => number
  /** Repeats until the returned function is called. */
  readonly every: (periodMs: number, run: () => void) => () => void
  /** Runs once, unless the returned function is called first. */
  readonly after: (delayMs: number, run: () => void) => () => void
}

export const systemPorts: Ports = {
  now: () => Date.now(),
  every: (periodMs, run) => {
    const timer = setInterval(run, periodMs)
    return () => clearInterval(timer)
  },
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
}
