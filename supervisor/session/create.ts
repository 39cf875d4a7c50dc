/**
 * Puts the Sessions of this Computer together. Commands and reports only write; after each commit `drive` takes the
 * next step from what is stored and what runs. So a rollback leaves nothing to undo, and a restart begins from the
 * same rows. Parts that need each other meet here, through functions that are called once all of them exist.
 */
import { join } from "node:path"
import { ok, type Result } from "@computerd/protocol/errors"
import { SessionId } from "@computerd/protocol/ids"
import { stopGraceMs } from "@computerd/protocol/limits"
import { type ChannelServer, openChannelServer } from "../channel/server.ts"
import type { Journal } from "../journal.ts"
import { once } from "../later.ts"
import { type Timers, within } from "../ports.ts"
import { chooseIsolation, type Isolation, removeGroup } from "../process/cgroup.ts"
import { createLogs, type Logs } from "../process/logs.ts"
import type { ExitRecorder } from "../process/recorder.ts"
import { type Backoff, createBackoff } from "./backoff.ts"
import { type Commands, createCommands } from "./commands.ts"
import { createDrive } from "./drive.ts"
import { createDownFrames, type DownFrames } from "./frames.ts"
import { createFreezer, type Freezer } from "./freezer.ts"
import { createGetters, type Getters } from "./getters.ts"
import { inheritProcesses } from "./inherit.ts"
import { openRecorder } from "./recorder.ts"
import { createReports, type Reports } from "./reports.ts"
import { createRuns, type Runs } from "./runs.ts"
import type { ProcessIdentity, Sessions, SessionsDeps } from "./sessions.ts"
import type { StepFacts } from "./step.ts"
import { endStrays } from "./strays.ts"
import { createTurns, type Turns } from "./turns.ts"
import { livingProcesses, viewOf } from "./view.ts"

export interface SessionsOptions extends SessionsDeps {
  /** From spawn to ready; the limit of the protocol unless a test sets a shorter one. */
  readonly startTimeoutMs?: number
  /** How trees are kept and ended; the best that this machine allows unless a test sets another. */
  readonly isolation?: Isolation
  /** For processes of an earlier supervisor to come back. */
  readonly reattachMs?: number
}

/** A process dials again within a second of losing its supervisor; the rest is for a machine that is short of time. */
const reattachDefaultMs = 20_000

/** Of the time to stop, kept for killing what did not end by itself. */
const killReserveMs = 1000

interface Shell {
  readonly isolation: Isolation
  readonly logs: Logs
  readonly freezer: Freezer
  readonly recorder: ExitRecorder
  readonly supervisor: () => StepFacts["supervisor"]
  /** Of the channel, which is opened last. */
  readonly channel: () => ChannelServer
}

interface Parts {
  readonly runs: Runs
  readonly frames: DownFrames
  readonly commands: Commands
  readonly reports: Reports
  readonly getters: Getters
  readonly backoff: Backoff
  readonly drive: (sessionId: SessionId) => void
}

const noteFailure = (journal: Journal, task: string, error: unknown): void => {
  const message = error instanceof Error ? error.message : String(error)
  journal.record({ event: "session_task_failed", task, message })
}

const connectParts = (options: SessionsOptions, shell: Shell): Parts => {
  const { ports, journal, store, emit } = options
  const { logs, supervisor } = shell
  const flush = (sessionId: SessionId): void => shell.channel().flush(sessionId)

  const taskFailed = (task: string, error: unknown): void => noteFailure(journal, task, error)
  const disconnect: (...of: Parameters<SessionsDeps["disconnect"]>) => void = (process, cause) => {
    options.disconnect(process, cause).catch((error: unknown) => taskFailed("disconnect", error))
  }
  const overflowed = (sessionId: SessionId): void => {
    const cause = { kind: "unknown", message: "it left too many frames of its channel unread" } as const
    runs.get(sessionId)?.end(cause, 0)
  }

  const backoff = createBackoff(ports.timers, (sessionId) => drive(sessionId))
  const getters = createGetters({
    timers: ports.timers,
    reach: ports.reach,
    store,
    connect: options.connect,
    frames: () => frames,
    flush,
    overflowed,
    taskFailed,
  })
  const frames = createDownFrames({ store, askAgain: getters.repeat })
  const turns: Turns = createTurns({
    clock: ports.clock,
    journal,
    store,
    emit,
    push: (sessionId, body) => {
      const pushed = frames.push(sessionId, body)
      if (!pushed) store.afterCommit(() => overflowed(sessionId))
      return pushed
    },
    limitTurn: (sessionId, turnId, graceMs) => runs.get(sessionId)?.limitTurn(turnId, graceMs),
  })
  const runs: Runs = createRuns({
    ...options,
    isolation: shell.isolation,
    logs,
    freezer: shell.freezer,
    recorder: shell.recorder,
    frames,
    channelUrl: () => shell.channel().url,
    supervisor,
    flush,
    stopping: (process) => disconnect(process, "shutting_down"),
    exited: (process) => {
      shell.channel().drop(process)
      disconnect(process, "exited")
      const row = store.sessions.get(process.sessionId)
      if (row !== undefined) backoff.begin(row)
      drive(process.sessionId)
    },
  })
  const drive = createDrive({
    timers: ports.timers,
    reach: ports.reach,
    journal,
    store,
    runs,
    backoff,
    turns,
    emit,
    supervisor,
    flush,
    forgotten: logs.prune,
  })
  const reports = createReports({
    journal,
    store,
    emit,
    tell: (process, event) => {
      const run = runs.get(process.sessionId)
      if (run?.identity.generation !== process.generation) return
      run.handle(event)
      drive(process.sessionId)
    },
    connect: getters.take,
  })
  const commands = createCommands({ journal, store, turns, emit })
  return { runs, frames, commands, reports, getters, backoff, drive }
}

/** Answers with the processes that could not be ended in time. */
const stopRuns = async (timers: Timers, runs: Runs, deadlineMs: number): Promise<readonly string[]> => {
  const living = runs.all()
  const graceMs = Math.min(stopGraceMs, Math.max(0, deadlineMs - killReserveMs))
  for (const run of living) run.end({ kind: "shutdown" }, graceMs)
  await within(timers, deadlineMs, Promise.all(living.map((run) => run.ended)))
  return runs
    .all()
    .map(({ identity, pid }) => `the process of ${identity.sessionId} (pid ${pid ?? "unknown"}) lives on`)
}

const openLogs = ({ config, ports, journal, store }: SessionsOptions): Logs =>
  createLogs({
    directory: join(config.stateDirectory, "logs"),
    ports,
    journal,
    keeps: (folder) => {
      const sessionId = SessionId.safeParse(folder)
      return sessionId.success && store.sessions.get(sessionId.data) !== undefined
    },
  })

interface Taking extends Pick<Parts, "runs" | "getters" | "backoff">, Pick<Shell, "recorder"> {
  readonly channel: ChannelServer
}

/** What ran and lives goes on, what waited waits on, and what was asked is answered, once all parts are made. */
const takeOver = (options: SessionsOptions, { runs, getters, backoff, recorder, channel }: Taking): void => {
  const { ports, journal, store } = options
  const { timers } = ports
  inheritProcesses({
    timers,
    journal,
    store,
    runs,
    port: { told: channel.previousPort, bound: channel.port },
    recorder,
    reattachMs: options.reattachMs ?? reattachDefaultMs,
  })
  for (const row of store.sessions.all()) if (runs.get(row.sessionId) === undefined) backoff.begin(row)
  timers.after(0, () => {
    for (const { identity, isGone } of runs.all()) if (!isGone) getters.resume(identity)
  })
}

/**
 * Ends what no record of this store speaks of, then lets processes start. Under a lease only: another supervisor of this
 * Computer may hold it, and the processes be its.
 */
const endUnknown = (
  options: SessionsOptions,
  { runs, recorder }: Pick<Taking, "runs" | "recorder">,
): Promise<void> => {
  const { ports, journal } = options
  const hasRun = (sessionId: SessionId): boolean => runs.get(sessionId) !== undefined
  return endStrays({
    ports,
    journal,
    computerId: options.config.computerId,
    hasRun,
    needsRecorder: (pid) => recorder.needs(pid),
  })
    .catch((error: unknown) => noteFailure(journal, "strays", error))
    .finally(runs.open)
}

export const createSessions = async (options: SessionsOptions): Promise<Result<Sessions>> => {
  const { ports, journal, store, config } = options
  let supervisor: "serving" | "ending" = "serving"
  const isolation = options.isolation ?? chooseIsolation(`computerd-${config.computerId}`)
  journal.record({ event: "isolation_chosen", isolation: isolation.kind, reason: isolation.reason })
  const logs = openLogs(options)
  const recorder = openRecorder({ ...options, ...ports, computerId: config.computerId })
  const freezer = createFreezer({
    ...{ ports, journal, meta: store.meta, time: options.time },
    trees: () => parts.runs.all().map(({ tree }) => tree),
  })
  const parts: Parts = connectParts(options, {
    isolation,
    logs,
    freezer,
    recorder,
    supervisor: () => (supervisor === "serving" && !options.hasLease() ? "waiting" : supervisor),
    channel: () => channel,
  })
  const { runs, commands, drive } = parts
  const { apply, wire } = { apply: parts.reports, wire: parts.frames.wire }
  const owner = {
    apply,
    wire,
    connected: runs.connected,
    disconnected: ({ sessionId }: ProcessIdentity) => runs.get(sessionId)?.disconnected(),
  }
  const opened = openChannelServer({ ports, journal, store, config, owner })
  if (!opened.ok) {
    logs.close()
    recorder.close()
    return opened
  }
  const channel = opened.value
  takeOver(options, { ...parts, recorder, channel })
  freezer.hold()
  const endUnknownOnce = once(() => endUnknown(options, { runs, recorder }))
  if (options.hasLease()) void endUnknownOnce()

  return ok({
    apply: (command) => {
      commands.apply(command)
      const sessionId = command.type === "assign" ? command.assignment.sessionId : command.sessionId
      store.afterCommit(() => drive(sessionId))
    },
    reconcile: (run) => {
      commands.reconcile(run)
      for (const { sessionId } of store.sessions.all()) store.afterCommit(() => drive(sessionId))
    },
    resume: () => {
      freezer.thaw()
      void endUnknownOnce()
      for (const { sessionId } of store.sessions.all()) drive(sessionId)
    },
    started: () => [
      ...runs.all().flatMap(({ startedPid }) => (startedPid === undefined ? [] : [startedPid])),
      ...recorder.started(),
    ],
    freeze: freezer.freeze,
    frozenSinceMs: freezer.sinceMs,
    living: () => livingProcesses(runs.all()),
    view: () => store.sessions.all().map((row) => viewOf(row, runs.get(row.sessionId), supervisor)),
    find: (sessionId) => {
      const row = store.sessions.get(sessionId)
      return row && viewOf(row, runs.get(sessionId), supervisor)
    },
    abandon: ({ sessionId, generation }, message) => {
      const run = runs.get(sessionId)
      if (run?.identity.generation === generation) run.end({ kind: "not_reattached", message }, 0)
    },
    stop: async (deadlineMs) => {
      supervisor = "ending"
      parts.backoff.close()
      const failed = await stopRuns(ports.timers, runs, deadlineMs)
      freezer.close()
      await channel.close()
      logs.close()
      recorder.close()
      if (isolation.kind === "cgroup") removeGroup(isolation.directory)
      return failed
    },
  })
}
