/**
 * The supervisor, put together: the one place where its long-lived parts are made, in order, and from which they are
 * closed, in reverse.
 *
 * DM1 the store, and with it the lock of the state directory, comes first: nothing is touched without it
 * DM2 an end stops processes, then answers whoever still waits, then hands over what is to be told, then lets go
 * DM3 when the control plane wants nothing more of this supervisor, every Session process ends and the status says why
 */
import type { SupervisorConfiguration } from "@computerd/protocol/configuration"
import { CodedError, type Failure, ok, type Result } from "@computerd/protocol/errors"
import type { Status } from "@computerd/protocol/operator"
import { Admissions } from "./admission/admissions.ts"
import { createAdmissionJournal } from "./admission/journal.ts"
import { createBundles } from "./bundle/bundles.ts"
import { type Closers, createClosers, quietly } from "./closers.ts"
import { readCredential } from "./config/credential.ts"
import { createDescriptors, type Descriptors } from "./descriptor/descriptors.ts"
import type { Journal } from "./journal.ts"
import { createLease, type Lease } from "./link/lease.ts"
import type { Link } from "./link/link.ts"
import { createOutbox, type Outbox } from "./link/outbox.ts"
import { ControlPlaneLink } from "./link/supervise.ts"
import { openOperatorServer } from "./operator/http.ts"
import { readOwnStatus } from "./operator/status.ts"
import type { Ports } from "./ports.ts"
import { readBootId } from "./process/procfs.ts"
import { createSessions } from "./session/create.ts"
import type { Sessions } from "./session/sessions.ts"
import { leaseTable } from "./store/lease.ts"
import { openStore, type Store } from "./store/open.ts"

/** Graceful end of every Session process, killing included: above the grace of a handler. */
export const sessionsStopMs = 15_000
const flushMs = 3_000
/** For what only closes sockets and files. */
const closeMs = 5_000

export interface DaemonOptions {
  readonly config: SupervisorConfiguration
  readonly ports: Ports
  readonly journal: Journal
  readonly version: string
  readonly pid: number
}

export interface Daemon {
  /** Attached for the first time. */
  readonly ready: Promise<void>
  /** Ends everything, once; answers with what failed. */
  readonly stop: (cause: string) => Promise<readonly string[]>
  readonly closed: Promise<readonly string[]>
}

interface Parts {
  readonly lease: Lease
  readonly link: Link
  readonly outbox: Outbox
  readonly sessions: Sessions
  readonly descriptors: Descriptors
}

/** The first call does it; every other one gets its result. */
const once = <Arguments extends readonly unknown[], Value>(
  work: (...args: Arguments) => Promise<Value>,
): ((...args: Arguments) => Promise<Value>) => {
  let result: Promise<Value> | undefined
  return (...args) => {
    result ??= work(...args)
    return result
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** What the journal tells of the isolation that was chosen; the fallback until it does. */
const watchIsolation = (journal: Journal): (() => Status["computer"]["isolation"]) => {
  let isolation: Status["computer"]["isolation"] = "process_group"
  journal.subscribe((entry) => {
    if (entry.event === "isolation_chosen") isolation = entry.isolation
  })
  return () => isolation
}

interface Foundation {
  readonly options: DaemonOptions
  readonly store: Store
  readonly closers: Closers
  /** Attached, for the first time or again. */
  readonly attached: () => void
}

/** Everything above the store. A part reaches one that is made after it through a function, called once both exist. */
const assemble = async ({ options, store, closers, attached }: Foundation): Promise<Result<Parts>> => {
  const { config, ports, journal, version } = options
  const { clock, timers } = ports
  const credential = () => readCredential(config.credentialFile)

  const lease = createLease({
    clock,
    timers,
    changed: (state) => {
      const epoch = state.state === "none" ? null : state.epoch
      journal.record({ event: "lease_changed", state: state.state, epoch })
      if (state.state === "held") sessions.resume()
    },
  })
  const outbox = createOutbox({ store, clock, journal, pushed: () => link.pump() })
  const admissions: Admissions = new Admissions({
    ports,
    journal,
    entries: createAdmissionJournal(store, clock),
    send: (frame) => link.send(frame),
  })
  const link: Link = new ControlPlaneLink({
    ports,
    journal,
    store,
    leases: leaseTable(store.database),
    outbox,
    lease,
    sessions: {
      apply: (command) => sessions.apply(command),
      reconcile: (run) => sessions.reconcile(run),
      living: () => sessions.living(),
    },
    requests: admissions,
    attached,
    computerId: config.computerId,
    controlPlaneUrl: config.controlPlaneUrl,
    bootId: readBootId(),
    version,
    credential,
    rejected: () => endSessions("the control plane refused this supervisor"),
  })
  closers.push({
    name: "link",
    limitMs: flushMs + closeMs,
    close: quietly(async () => {
      const flushed = await link.flush(flushMs)
      await link.close()
      if (!flushed) journal.record({ event: "events_kept", count: outbox.unacknowledged() })
    }),
  })
  closers.push({ name: "admissions", limitMs: closeMs, close: quietly(() => admissions.close()) })
  const descriptors = createDescriptors({
    ports,
    journal,
    store,
    range: config.ports,
    lease,
    find: (sessionId) => sessions.find(sessionId),
    living: () => sessions.living(),
    invoke: (request, signal) => admissions.invoke(request, signal),
  })
  closers.push({ name: "MCP listeners", limitMs: 2 * closeMs, close: quietly(descriptors.close) })

  const made = await createSessions({
    ports,
    journal,
    store,
    config,
    bundles: createBundles({
      ports,
      journal,
      stateDirectory: config.stateDirectory,
      controlPlaneUrl: config.controlPlaneUrl,
      credential: () => {
        const read = credential()
        if (!read.ok) throw new CodedError(read.error)
        return read.value
      },
    }),
    hasLease: () => lease.state().state === "held",
    emit: outbox.push,
    connect: descriptors.connect,
    disconnect: descriptors.disconnect,
  })
  if (!made.ok) return made
  const sessions = made.value
  const stopSessions = once(() => sessions.stop(sessionsStopMs))
  const endSessions = (cause: string): void => {
    journal.record({ event: "sessions_ending", cause })
    stopSessions().then(
      (failed) => journal.record({ event: "sessions_ended", failed }),
      (error: unknown) => journal.record({ event: "sessions_ended", failed: [messageOf(error)] }),
    )
  }
  closers.push({ name: "sessions", limitMs: sessionsStopMs + closeMs, close: stopSessions })
  descriptors.restore()
  return ok({ lease, link, outbox, sessions, descriptors })
}

export const createDaemon = async (options: DaemonOptions): Promise<Result<Daemon>> => {
  const { config, ports, journal, version, pid } = options
  const startedAtMs = ports.clock.wallMs()
  const bootId = readBootId()
  const closers = createClosers(ports.timers)
  const isolation = watchIsolation(journal)
  const { promise: ready, resolve: attached } = Promise.withResolvers<void>()
  const { promise: closed, resolve: settle } = Promise.withResolvers<readonly string[]>()
  let parts: Parts | undefined

  const stop = once(async (cause: string) => {
    journal.record({ event: "daemon_stopping", cause })
    const failed = await closers.run()
    journal.record({ event: "daemon_stopped", failed })
    settle(failed)
    return failed
  })

  const giveUp = async (error: Failure): Promise<Result<never>> => {
    await closers.run()
    return { ok: false, error }
  }

  const store = openStore({ directory: config.stateDirectory, ports, journal })
  if (!store.ok) return store
  closers.push({ name: "store", limitMs: closeMs, close: quietly(store.value.close) })

  const operator = openOperatorServer({
    stateDirectory: config.stateDirectory,
    status: () => parts && readOwnStatus({ version, pid, startedAtMs, bootId, config, isolation, ...parts }),
    ready: () => parts?.link.status().state === "attached" && parts.lease.state().state === "held",
    fault: (message) => journal.record({ event: "operator_fault", message }),
  })
  if (!operator.ok) return giveUp(operator.error)
  closers.push({ name: "operator socket", limitMs: closeMs, close: quietly(operator.value.close) })
  journal.record({ event: "operator_listening", socket: operator.value.socketPath })

  const assembled = await assemble({ options, store: store.value, closers, attached })
  if (!assembled.ok) return giveUp(assembled.error)
  parts = assembled.value
  journal.record({ event: "daemon_started", version, pid })
  parts.link.start()
  return ok({ ready, stop, closed })
}
