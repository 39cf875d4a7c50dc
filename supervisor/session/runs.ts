/**
 * The living runs of this Computer, one for each Session at most: starts them with their generation durable first,
 * and writes down their ends.
 *
 * RS1 generation before start: the next number is on disk before anything is spawned under it
 * RS2 a run leaves the table only as itself: a late exit cannot evict its successor
 */
import { join } from "node:path"
import type { SessionBootstrap } from "@computerd/protocol/channel"
import type { SupervisorConfiguration } from "@computerd/protocol/configuration"
import { Generation, type SessionId } from "@computerd/protocol/ids"
import { sessionStartTimeoutMs } from "@computerd/protocol/limits"
import type { LinkEvent } from "@computerd/protocol/link"
import type { Bundles } from "../bundle/bundles.ts"
import { newSecret, secretHash } from "../channel/secret.ts"
import type { Journal } from "../journal.ts"
import type { Ports } from "../ports.ts"
import { type Isolation, makeGroup } from "../process/cgroup.ts"
import { sessionEnvironment, sessionMarker } from "../process/environment.ts"
import type { ProcessIdentity } from "../process/identity.ts"
import type { Logs } from "../process/logs.ts"
import type { StopCause } from "../process/machine.ts"
import { readBootId } from "../process/procfs.ts"
import { spawnProcess } from "../process/spawn.ts"
import type { Store } from "../store/open.ts"
import type { SessionRow } from "../store/sessions.ts"
import { recordExit } from "./exit.ts"
import type { DownFrames } from "./frames.ts"
import { type ExitedState, type Run, startRun } from "./run.ts"

export interface RunsDeps {
  readonly ports: Ports
  readonly journal: Journal
  readonly store: Store
  readonly config: SupervisorConfiguration
  readonly bundles: Bundles
  readonly isolation: Isolation
  readonly logs: Logs
  readonly frames: DownFrames
  readonly channelUrl: () => string
  readonly emit: (event: LinkEvent) => void
  readonly startTimeoutMs?: number
  /** There are new frames for the process. */
  readonly flush: (sessionId: SessionId) => void
  readonly stopping: (process: ProcessIdentity) => void
  /** The exit is stored and the run has left the table. */
  readonly exited: (process: ProcessIdentity) => void
}

export interface Runs {
  readonly get: (sessionId: SessionId) => Run | undefined
  readonly all: () => readonly Run[]
  readonly start: (row: SessionRow) => void
}

/** A full disk must not make an exit unheard of: its record is tried again until it is written. */
const recordAgainMs = 1000

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export const createRuns = (deps: RunsDeps): Runs => {
  const { ports, store, journal, config, isolation } = deps
  const runs = new Map<SessionId, Run>()
  const bootId = readBootId()

  const cgroupOf = ({ sessionId, generation }: ProcessIdentity): string | undefined =>
    isolation.kind === "cgroup" ? join(isolation.directory, `${sessionId}-${generation}`) : undefined

  /** RS1 */
  const nextGeneration = (row: SessionRow, secret: string): ProcessIdentity =>
    store.synced(() => {
      const { sessionId } = row
      const generation = Generation.parse(row.generation + 1)
      const identity: ProcessIdentity = { sessionId, generation }
      store.sessions.put({ ...row, generation })
      store.processes.put({
        ...identity,
        secretHash: secretHash(secret),
        pid: undefined,
        startTime: undefined,
        bootId,
        cgroup: cgroupOf(identity),
        startedAtMs: ports.clock.wallMs(),
        received: 0,
        sent: 0,
      })
      pushInitialize(row)
      deps.emit({ type: "process_starting", ...identity })
      return identity
    })

  const pushInitialize = ({ sessionId, assignment }: SessionRow): void => {
    const { key, parent, deploymentId, recovery } = assignment
    deps.frames.push(sessionId, {
      type: "initialize",
      context: {
        session: {
          id: sessionId,
          ...(key === undefined ? {} : { key }),
          ...(parent === undefined ? {} : { parent }),
        },
        computer: { id: config.computerId },
        deployment: { id: deploymentId },
        recovery,
      },
    })
  }

  const spawn = (identity: ProcessIdentity, bootstrap: SessionBootstrap) => {
    const cgroup = cgroupOf(identity)
    if (cgroup !== undefined) makeGroup(cgroup)
    return spawnProcess({
      command: config.sessionHost,
      workingDirectory: config.workspace,
      environment: sessionEnvironment({
        own: ports.environment,
        configured: config.environment,
        markers: { HELMR_SESSION_ID: identity.sessionId, HELMR_COMPUTER_ID: config.computerId },
      }),
      cgroup,
      output: deps.logs.open(identity),
      bootstrap,
      bootId,
    })
  }

  const record = (run: Run, state: ExitedState): void => {
    const { identity } = run
    const { reason, turnId, expected } = state
    try {
      store.transaction(() => recordExit({ store, emit: deps.emit }, { identity, reason, turnId, expected }))
    } catch (error) {
      journal.record({ event: "store_write_failed", during: "process exit", message: messageOf(error) })
      ports.timers.after(recordAgainMs, () => record(run, state))
      return
    }
    journal.record({ event: "process_exited", ...identity, reason, ...(turnId && { turnId }), expected })
    deps.logs.ended(identity)
    if (runs.get(identity.sessionId) === run) runs.delete(identity.sessionId)
    deps.frames.forget(identity.sessionId)
    deps.exited(identity)
  }

  const askToEnd = (identity: ProcessIdentity, graceMs: number): void => {
    try {
      store.transaction(() => deps.frames.push(identity.sessionId, { type: "shutdown", graceMs }))
      deps.flush(identity.sessionId)
    } catch (error) {
      // The process is not asked, so the end of the grace will kill it.
      journal.record({ event: "store_write_failed", during: "shutdown request", message: messageOf(error) })
    }
  }

  return {
    get: (sessionId) => runs.get(sessionId),
    all: () => [...runs.values()],
    start: (row) => {
      const secret = newSecret(ports.randomBytes)
      const identity = nextGeneration(row, secret)
      const { sessionId, assignment } = row
      const run = startRun({
        ports,
        journal,
        identity,
        marker: sessionMarker(sessionId),
        cgroup: cgroupOf(identity),
        limits: { startTimeoutMs: deps.startTimeoutMs ?? sessionStartTimeoutMs },
        bundle: () => deps.bundles.path(assignment.bundle),
        spawn: (bundlePath) =>
          spawn(identity, {
            channelUrl: deps.channelUrl(),
            secret,
            ...identity,
            bundlePath,
            agent: assignment.agent,
          }),
        spawned: (stamp) =>
          store.transaction(() => {
            const known = store.processes.get(sessionId)
            if (known?.generation === identity.generation) store.processes.put({ ...known, ...stamp })
          }),
        askToEnd: (graceMs) => askToEnd(identity, graceMs),
        stopping: (_cause: StopCause) => deps.stopping(identity),
        exited: (state) => record(run, state),
      })
      runs.set(sessionId, run)
    },
  }
}
