/**
 * Makes the long-lived parts above the store, in order, and says for each how it is closed. A part that calls one made
 * after it does so through `Later`.
 */
import type { SupervisorConfiguration } from "@computerd/protocol/configuration"
import { CodedError, ok, type Result } from "@computerd/protocol/errors"
import { Admissions } from "./admission/admissions.ts"
import { createAdmissionJournal } from "./admission/journal.ts"
import { type Bundles, createBundles } from "./bundle/bundles.ts"
import { type Closers, quietly } from "./closers.ts"
import { readCredential } from "./config/credential.ts"
import { Descriptors } from "./descriptor/descriptors.ts"
import type { Journal } from "./journal.ts"
import { Later, once } from "./later.ts"
import { createLease, type Lease } from "./link/lease.ts"
import type { Link } from "./link/link.ts"
import { createOutbox, type Outbox } from "./link/outbox.ts"
import { ControlPlaneLink } from "./link/supervise.ts"
import { createTermMemory } from "./link/term.ts"
import { webSockets } from "./link/websocket.ts"
import type { Ports } from "./ports.ts"
import { readBootId } from "./process/procfs.ts"
import { createSessions } from "./session/create.ts"
import type { Sessions } from "./session/sessions.ts"
import { createSessionTime, type SessionTime } from "./session/time.ts"
import { leaseTable } from "./store/lease.ts"
import type { Store } from "./store/open.ts"

/** Graceful end of every Session process, killing included: above the grace of a handler. */
const sessionsStopMs = 15_000
const flushMs = 3_000
/** For what only closes sockets and files. */
export const closeMs = 5_000

export interface DaemonOptions {
  readonly config: SupervisorConfiguration
  readonly ports: Ports
  readonly journal: Journal
  readonly version: string
  readonly pid: number
  /** Nothing that waits will ever go on in this process. */
  readonly timersDead?: () => void
}

export interface Foundation {
  readonly options: DaemonOptions
  readonly store: Store
  readonly closers: Closers
  /** Attached, for the first time or again. */
  readonly attached: () => void
}

export interface Parts {
  readonly store: Store
  readonly lease: Lease
  readonly link: Link
  readonly outbox: Outbox
  readonly sessions: Sessions
  readonly descriptors: Descriptors
}

interface Wiring extends Foundation {
  readonly time: SessionTime
  readonly link: Later<Link>
  readonly sessions: Later<Sessions>
}

const makeLease = ({ options, store, sessions, time }: Wiring): Lease => {
  const { ports, journal } = options
  const { inherited, remember } = createTermMemory({ ...ports, store, journal, bootId: readBootId() })
  return createLease({
    ...{ ...ports, waits: time.timers, inherited: inherited(), remember },
    changed: (state) => {
      const epoch = state.state === "none" ? null : state.epoch
      journal.record({ event: "lease_changed", state: state.state, epoch })
      if (state.state === "held") sessions.get().resume()
      // One that lapses before there are Sessions is seen when there are.
      if (state.state === "lapsed") sessions.peek()?.freeze()
    },
  })
}

const makeOutbox = ({ options, store, link }: Wiring): Outbox =>
  createOutbox({
    store,
    clock: options.ports.clock,
    journal: options.journal,
    pushed: () => link.get().pump(),
  })

const makeAdmissions = ({ options, store, closers, link, time }: Wiring): Admissions => {
  const { ports, journal } = options
  const admissions = new Admissions({
    ports: { ...ports, clock: { ...ports.clock, ...time.clock }, timers: time.timers },
    journal,
    entries: createAdmissionJournal(store, ports.clock),
    send: (frame) => link.get().send(frame),
  })
  closers.push({ name: "admissions", limitMs: closeMs, close: quietly(() => admissions.close()) })
  return admissions
}

const makeLink = (
  wiring: Wiring,
  parts: Pick<Parts, "lease" | "outbox"> & { requests: Admissions },
): Link => {
  const { options, store, closers, sessions, attached } = wiring
  const { config, ports, journal, version } = options
  const link = new ControlPlaneLink({
    ...parts,
    ports,
    transport: webSockets,
    journal,
    store,
    leases: leaseTable(store.database),
    sessions: {
      apply: (command) => sessions.get().apply(command),
      reconcile: (run) => sessions.get().reconcile(run),
      living: () => sessions.get().living(),
    },
    computerId: config.computerId,
    controlPlaneUrl: config.controlPlaneUrl,
    bootId: readBootId(),
    version,
    credential: () => readCredential(config.credentialFile),
    attached,
    rejected: ({ code }) => {
      // What another supervisor may run already is not to do anything more here.
      if (code === "superseded") sessions.get().freeze()
      endSessions(wiring, `the control plane refused this supervisor: ${code}`)
    },
  })
  const close = async (): Promise<void> => {
    const flushed = await link.flush(flushMs)
    await link.close()
    if (!flushed) journal.record({ event: "events_kept", count: parts.outbox.unacknowledged() })
  }
  closers.push({ name: "link", limitMs: flushMs + closeMs, close: quietly(close) })
  return link
}

/** DM3 */
const endSessions = ({ options, sessions }: Wiring, cause: string): void => {
  const ended = (failed: readonly string[]): void =>
    options.journal.record({ event: "sessions_ended", failed })
  options.journal.record({ event: "sessions_ending", cause })
  sessions
    .get()
    .stop(sessionsStopMs)
    .then(ended, (error: unknown) => ended([error instanceof Error ? error.message : String(error)]))
}

const makeDescriptors = (wiring: Wiring, lease: Lease, admissions: Admissions): Descriptors => {
  const { options, store, closers, sessions, time } = wiring
  const { config, ports, journal } = options
  const descriptors = new Descriptors({
    ports,
    time,
    journal,
    store,
    range: config.ports,
    lease,
    find: (sessionId) => sessions.get().find(sessionId),
    living: () => sessions.get().living(),
    invoke: (request, signal) => admissions.invoke(request, signal),
    unrestorable: (process, message) => sessions.get().abandon(process, message),
  })
  closers.push({ name: "MCP listeners", limitMs: 2 * closeMs, close: quietly(() => descriptors.close()) })
  return descriptors
}

const makeBundles = ({ config, ports, journal }: DaemonOptions): Bundles =>
  createBundles({
    ports,
    journal,
    stateDirectory: config.stateDirectory,
    controlPlaneUrl: config.controlPlaneUrl,
    credential: () => {
      const credential = readCredential(config.credentialFile)
      if (!credential.ok) throw new CodedError(credential.error)
      return credential.value
    },
  })

const makeSessions = async (
  wiring: Wiring,
  parts: Pick<Parts, "lease" | "outbox" | "descriptors">,
): Promise<Result<Sessions>> => {
  const { options, store, closers } = wiring
  const { lease, outbox, descriptors } = parts
  const { config, ports, journal } = options
  const made = await createSessions({
    ports,
    journal,
    store,
    config,
    bundles: makeBundles(options),
    hasLease: () => lease.state().state === "held",
    time: wiring.time,
    emit: outbox.push,
    connect: (process, policy) => descriptors.connect(process, policy),
    disconnect: (process, cause) => descriptors.disconnect(process, cause),
  })
  if (!made.ok) return made
  // The control plane's refusal and the supervisor's own end may both ask; the first one's work serves both.
  const sessions = { ...made.value, stop: once(made.value.stop) }
  const close = (): Promise<readonly string[]> => sessions.stop(sessionsStopMs)
  closers.push({ name: "sessions", limitMs: sessionsStopMs + closeMs, close })
  return ok(sessions)
}

/** DM2: what is made later is closed earlier, so processes end while the link can still tell of it. */
export const assemble = async (foundation: Foundation): Promise<Result<Parts>> => {
  const { ports } = foundation.options
  const time = createSessionTime(ports)
  const wiring: Wiring = { ...foundation, time, link: new Later("link"), sessions: new Later("sessions") }
  const lease = makeLease(wiring)
  const outbox = makeOutbox(wiring)
  const requests = makeAdmissions(wiring)
  const link = wiring.link.set(makeLink(wiring, { lease, outbox, requests }))
  const descriptors = makeDescriptors(wiring, lease, requests)
  const sessions = await makeSessions(wiring, { lease, outbox, descriptors })
  if (!sessions.ok) return sessions
  wiring.sessions.set(sessions.value)
  if (lease.state().state === "lapsed") sessions.value.freeze()
  descriptors.restore()
  return ok({ store: foundation.store, lease, link, outbox, sessions: sessions.value, descriptors })
}
