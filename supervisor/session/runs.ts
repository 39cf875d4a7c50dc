/**
 * The living runs of this Computer, one for each Session at most, and the writing down of their ends.
 *
 * RS1 a run leaves the table only as itself: a late exit cannot evict its successor
 */
import type { SupervisorConfiguration } from "@computerd/protocol/configuration"
import type { SessionId } from "@computerd/protocol/ids"
import { sessionStartTimeoutMs } from "@computerd/protocol/limits"
import type { LinkEvent } from "@computerd/protocol/link"
import type { Bundles } from "../bundle/bundles.ts"
import { newSecret } from "../channel/secret.ts"
import type { Journal } from "../journal.ts"
import type { Ports } from "../ports.ts"
import type { Isolation } from "../process/cgroup.ts"
import { sessionMarker } from "../process/environment.ts"
import type { ProcessIdentity, ProcessStamp } from "../process/identity.ts"
import type { Logs } from "../process/logs.ts"
import { readBootId } from "../process/procfs.ts"
import type { ExitRecorder } from "../process/recorder.ts"
import type { Store } from "../store/open.ts"
import type { ProcessRow, StoredStop } from "../store/processes.ts"
import type { SessionRow } from "../store/sessions.ts"
import { recordExit } from "./exit.ts"
import type { DownFrames } from "./frames.ts"
import type { Freezer } from "./freezer.ts"
import { beginGeneration } from "./generation.ts"
import { createLaunch } from "./launch.ts"
import { type ExitedState, type Origin, Run } from "./run.ts"
import { createStarts } from "./starts.ts"
import type { StepFacts } from "./step.ts"
import type { SessionTime } from "./time.ts"

export interface RunsDeps {
  readonly ports: Ports
  readonly journal: Journal
  readonly store: Store
  readonly config: SupervisorConfiguration
  readonly bundles: Bundles
  readonly isolation: Isolation
  readonly logs: Logs
  readonly recorder: ExitRecorder
  readonly frames: DownFrames
  readonly channelUrl: () => string
  readonly emit: (event: LinkEvent) => void
  readonly startTimeoutMs?: number
  readonly time: Pick<SessionTime, "timers">
  readonly freezer: Pick<Freezer, "sinceMs" | "thawed">
  readonly supervisor: () => StepFacts["supervisor"]
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
  /** From now on processes start. */
  readonly open: () => void
  /** The process has come to its channel. */
  readonly connected: (process: ProcessIdentity) => void
  /** Goes on with what an earlier supervisor started. */
  readonly adopt: (session: SessionRow, process: ProcessRow, origin: Inherited) => void
}

type Inherited = Extract<Origin, { readonly kind: "inherited" }>

/** A full disk must not make an exit unheard of: its record is tried again until it is written. */
const recordAgainMs = 1000

export const createRuns = (deps: RunsDeps): Runs => {
  const { ports, store, journal } = deps
  const runs = new Map<SessionId, Run>()
  const starts = createStarts()
  const bootId = readBootId()
  const launch = createLaunch({ ...deps, bootId })
  const generation = {
    clock: ports.clock,
    store,
    computerId: deps.config.computerId,
    bootId,
    frames: deps.frames,
    emit: deps.emit,
    cgroupOf: launch.cgroupOf,
    reach: ports.reach,
  }

  const writeFailed = (during: string, error: unknown): void => {
    const message = error instanceof Error ? error.message : String(error)
    journal.record({ event: "store_write_failed", during, message })
  }

  const record = (run: Run, state: ExitedState): void => {
    const { identity } = run
    const { reason, turnId, expected } = state
    try {
      const blame = reason.kind === "not_reattached" ? "surroundings" : run.blame
      store.transaction(() => {
        recordExit(deps, { identity, reason, blame, turnId, expected })
        ports.reach("exit.before_commit")
      })
      ports.reach("exit.after_commit")
    } catch (error) {
      writeFailed("process exit", error)
      // A supervisor that ends leaves the rest to the next one, which finds the row of the process.
      if (deps.supervisor() !== "ending") {
        ports.timers.after(recordAgainMs, () => record(run, state))
        return
      }
    }
    journal.record({ event: "process_exited", ...identity, reason, ...(turnId && { turnId }), expected })
    forget(run)
  }

  /** RS1 */
  const forget = (run: Run): void => {
    const { identity } = run
    deps.logs.ended(identity)
    if (run.stamp !== undefined) deps.recorder.forget(run.stamp)
    starts.done(identity)
    if (runs.get(identity.sessionId) !== run) return
    runs.delete(identity.sessionId)
    deps.frames.forget(identity.sessionId)
    deps.exited(identity)
  }

  const askToEnd = ({ sessionId }: ProcessIdentity, graceMs: number): void => {
    try {
      store.transaction(() => deps.frames.push(sessionId, { type: "shutdown", graceMs }))
      deps.flush(sessionId)
    } catch (error) {
      // The process is not asked, so the end of the grace will kill it.
      writeFailed("shutdown request", error)
    }
  }

  const recordStamp = ({ sessionId, generation }: ProcessIdentity, stamp: ProcessStamp): void => {
    ports.reach("process.before_record")
    store.transaction(() => {
      const row = store.processes.get(sessionId)
      if (row?.generation === generation) store.processes.put({ ...row, ...stamp })
    })
    ports.reach("process.after_record")
  }

  /** The stop outlives this supervisor; where it cannot be written down, the next one sees only the exit. */
  const stopping = (identity: ProcessIdentity, stop: StoredStop): void => {
    try {
      store.transaction(() => {
        const row = store.processes.get(identity.sessionId)
        if (row?.generation === identity.generation) store.processes.setStop(identity.sessionId, stop)
        ports.reach("stop.before_commit")
      })
      ports.reach("stop.after_commit")
    } catch (error) {
      writeFailed("process stop", error)
    }
    deps.stopping(identity)
  }

  const add = (identity: ProcessIdentity, cgroup: string | undefined, origin: Origin): Run => {
    const run = new Run({
      ports,
      journal,
      identity,
      marker: sessionMarker(identity.sessionId),
      cgroup,
      startTimeoutMs: deps.startTimeoutMs ?? sessionStartTimeoutMs,
      origin,
      limits: deps.time.timers,
      isFrozen: () => deps.freezer.sinceMs() !== undefined,
      askToEnd: (graceMs) => askToEnd(identity, graceMs),
      stopping: (cause, graceMs) => stopping(identity, { cause, graceMs }),
      exited: (state) => record(run, state),
    })
    runs.set(identity.sessionId, run)
    return run
  }

  const start = (row: SessionRow): void => {
    const secret = newSecret(ports.randomBytes)
    const identity = beginGeneration(generation, row, secret)
    const { bundle, agent } = row.assignment
    add(identity, launch.cgroupOf(identity), {
      kind: "started",
      bundle: async () => {
        await starts.take(identity)
        const path = await deps.bundles.path(bundle)
        await deps.freezer.thawed()
        return path
      },
      spawn: (bundlePath) =>
        launch.spawn(identity, { channelUrl: deps.channelUrl(), secret, ...identity, bundlePath, agent }),
      spawned: (stamp) => {
        deps.recorder.keep(stamp)
        recordStamp(identity, stamp)
      },
    })
  }

  const adopt: Runs["adopt"] = ({ sessionId, turn }, { generation, cgroup }, origin) => {
    const run = add({ sessionId, generation }, cgroup, origin)
    if (run.stamp !== undefined) deps.recorder.keep(run.stamp)
    deps.logs.adopt(run.identity)
    if (turn?.phase === "sent" && turn.cancel !== undefined) run.limitTurn(turn.data.id, turn.cancel.graceMs)
  }

  const connected: Runs["connected"] = (process) => {
    starts.done(process)
    const run = runs.get(process.sessionId)
    if (run?.identity.generation === process.generation) run.connected()
  }

  return {
    get: (sessionId) => runs.get(sessionId),
    all: () => [...runs.values()],
    start,
    adopt,
    connected,
    open: starts.open,
  }
}
