/**
 * What a person's Ctrl-C means: the first signal asks for an orderly end, the next one for an end at once. A fault of our
 * own asks for an orderly end too. Signals come in as a function, so that every order of them is a plain test.
 */
export const stopSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const
export type StopSignal = (typeof stopSignals)[number]

/** By convention a command that a signal ended exits with 128 and the signal's number. */
const signalNumber: Readonly<Record<StopSignal, number>> = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }
export const interruptedExitCode = (signal: StopSignal): number => 128 + signalNumber[signal]

export interface Interrupt {
  /** Aborted by the first signal. */
  readonly stop: AbortSignal
  /** Aborted by the second one. */
  readonly kill: AbortSignal
  readonly first: () => StopSignal | undefined
  /** Something broke that nobody caught: what is open is closed, and the command fails. */
  readonly fault: () => void
  readonly close: () => void
}

export type Listen = (signal: StopSignal, listener: () => void) => () => void

export const createInterrupt = (listen: Listen): Interrupt => {
  const stop = new AbortController()
  const kill = new AbortController()
  let first: StopSignal | undefined
  const forget = stopSignals.map((signal) =>
    listen(signal, () => {
      if (first === undefined) {
        first = signal
        stop.abort()
      } else kill.abort()
    }),
  )
  return {
    stop: stop.signal,
    kill: kill.signal,
    first: () => first,
    fault: () => stop.abort(),
    close: () => {
      for (const one of forget) one()
    },
  }
}

export const processSignals: Listen = (signal, listener) => {
  process.on(signal, listener)
  return () => process.off(signal, listener)
}
