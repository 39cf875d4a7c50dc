/**
 * The supervisor as a whole: makes its parts in order, and closes them in reverse.
 *
 * DM1 the store, and with it the lock of the state directory, comes first: nothing is touched without it
 * DM2 an end stops processes, then answers whoever still waits, then hands over what is to be told, then lets go
 * DM3 when the control plane wants nothing more of this supervisor, every Session process ends and the status says why
 */
import { type Failure, ok, type Result } from "@computerd/protocol/errors"
import { assemble, closeMs, type DaemonOptions, type Parts } from "./assembly.ts"
import { type Closers, createClosers, quietly } from "./closers.ts"
import { once } from "./later.ts"
import { type OperatorServer, openOperatorServer } from "./operator/http.ts"
import { watchMachine } from "./operator/machine.ts"
import { readOwnStatus } from "./operator/status.ts"
import { watchPauses } from "./pauses.ts"
import { readBootId } from "./process/procfs.ts"
import { openStore, type Store } from "./store/open.ts"

export interface Daemon {
  /** Attached for the first time. */
  readonly ready: Promise<void>
  /** Ends everything, once; answers with what failed. */
  readonly stop: (cause: string) => Promise<readonly string[]>
  readonly closed: Promise<readonly string[]>
  /** Processes that the runtime has started here and collects itself. */
  readonly started: () => readonly number[]
}

/** DM1 */
const openLocked = ({ config, ports, journal }: DaemonOptions, closers: Closers): Result<Store> => {
  const store = openStore({ directory: config.stateDirectory, ports, journal })
  if (store.ok) closers.push({ name: "store", limitMs: closeMs, close: quietly(store.value.close) })
  return store
}

/** Opened before the other parts, so that a start which takes long can be asked about. */
const serveOperators = (
  options: DaemonOptions,
  closers: Closers,
  parts: () => Parts | undefined,
): Result<OperatorServer> => {
  const { config, ports, journal, version, pid } = options
  const facts = {
    ...{ config, version, pid, bootId: readBootId(), startedAtMs: ports.clock.wallMs() },
    machine: watchMachine(journal),
  }
  const server = openOperatorServer({
    stateDirectory: config.stateDirectory,
    status: () => {
      const made = parts()
      return made && readOwnStatus({ ...facts, ...made })
    },
    ready: () => parts()?.link.status().state === "attached" && parts()?.lease.state().state === "held",
    fault: (message) => journal.record({ event: "operator_fault", message }),
  })
  if (!server.ok) return server
  closers.push({ name: "operator socket", limitMs: closeMs, close: quietly(server.value.close) })
  journal.record({ event: "operator_listening", socket: server.value.socketPath })
  return server
}

/** Answers with the parts, or with the first thing that could not be made. */
const make = async (
  options: DaemonOptions,
  closers: Closers,
  attached: () => void,
): Promise<Result<Parts>> => {
  const store = openLocked(options, closers)
  if (!store.ok) return store
  let parts: Parts | undefined
  const operators = serveOperators(options, closers, () => parts)
  if (!operators.ok) return operators
  const assembled = await assemble({ options, store: store.value, closers, attached })
  if (assembled.ok) parts = assembled.value
  return assembled
}

const giveUp = async (closers: Closers, error: Failure): Promise<Result<never>> => {
  await closers.run()
  return { ok: false, error }
}

export const createDaemon = async (options: DaemonOptions): Promise<Result<Daemon>> => {
  const { ports, journal, version, pid, timersDead = () => undefined } = options
  const closers = createClosers(ports.timers)
  const { promise: ready, resolve: attached } = Promise.withResolvers<void>()
  const { promise: closed, resolve: settle } = Promise.withResolvers<readonly string[]>()
  const parts = await make(options, closers, attached)
  if (!parts.ok) return giveUp(closers, parts.error)
  journal.record({ event: "daemon_started", version, pid })
  const { lease, link } = parts.value
  const stopWatching = watchPauses({ ports, journal, lease, link, timersDead })
  closers.push({ name: "pauses", limitMs: closeMs, close: quietly(stopWatching) })
  link.start()
  const stop = once(async (cause: string) => {
    journal.record({ event: "daemon_stopping", cause })
    const failed = await closers.run()
    journal.record({ event: "daemon_stopped", failed })
    settle(failed)
    return failed
  })
  return ok({ ready, stop, closed, started: parts.value.sessions.started })
}
