/**
 * What a person's Ctrl-C means: the first signal asks for an orderly end, the next one for an end at once. A fault of our
 * own asks for an orderly end too, and so does the end of what started this process. All of them come in as functions, so
 * that every order of them is a plain test.
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
  /** The signal that came first; the end of what started this process counts as SIGTERM. */
  readonly first: () => StopSignal | undefined
  /** Something broke that nobody caught: what is open is closed, and the command fails. */
  readonly fault: () => void
  readonly close: () => void
}

type Forget = () => void
export type Listen = (signal: StopSignal, listener: () => void) => Forget
/** Tells once when what started this process is gone. */
export type WatchStarter = (gone: () => void) => Forget

/** For a process that outlives what started it. */
const unwatched: WatchStarter = () => () => undefined

export const createInterrupt = (listen: Listen, watchStarter: WatchStarter = unwatched): Interrupt => {
  const stop = new AbortController()
  const kill = new AbortController()
  let first: StopSignal | undefined
  let orphaned = false
  const forget = [
    ...stopSignals.map((signal) =>
      listen(signal, () => {
        if (first === undefined) {
          first = signal
          stop.abort()
        } else kill.abort()
      }),
    ),
    // Never the second signal: a Ctrl-C ends what started this process as well.
    watchStarter(() => {
      orphaned = true
      stop.abort()
    }),
  ]
  return {
    stop: stop.signal,
    kill: kill.signal,
    first: () => first ?? (orphaned ? "SIGTERM" : undefined),
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

/** What is said at once: an orderly end may take as long as a program needs to give up. */
export const endingLine = ({ first }: Pick<Interrupt, "first">): string =>
  first() === undefined ? "computerd: ending" : "computerd: ending; interrupt again to end at once"
