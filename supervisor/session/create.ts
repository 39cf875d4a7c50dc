/**
 * Puts the Sessions of this Computer together: commands and reports only write; after each commit `drive` looks at
 * what is stored and what runs, and takes the next step. So a rollback leaves nothing to undo, and a restart begins
 * from the same rows.
 */
import { join } from "node:path"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { SessionId } from "@computerd/protocol/ids"
import { stopGraceMs } from "@computerd/protocol/limits"
import { type ChannelServer, openChannelServer } from "../channel/server.ts"
import { within } from "../ports.ts"
import { chooseIsolation, type Isolation, removeGroup } from "../process/cgroup.ts"
import type { ProcessIdentity } from "../process/identity.ts"
import { createLogs, type Logs } from "../process/logs.ts"
import { createCommands } from "./commands.ts"
import { forgetSession } from "./exit.ts"
import { type ConnectionRequest, createDownFrames, type DownFrames } from "./frames.ts"
import { endInherited } from "./inherit.ts"
import { createReports } from "./reports.ts"
import { createRuns, type Runs } from "./runs.ts"
import type { Sessions, SessionsDeps } from "./sessions.ts"
import { nextStep } from "./step.ts"
import { createTurns, type Turns } from "./turns.ts"
import { livingProcesses, viewOf } from "./view.ts"

export interface SessionsOptions extends SessionsDeps {
  /** From spawn to ready; the limit of the protocol unless a test sets a shorter one. */
  readonly startTimeoutMs?: number
}

/** Of the time to stop, kept for killing what did not end by itself. */
const killReserveMs = 1000
const retryDriveMs = 1000

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export const createSessions = async (options: SessionsOptions): Promise<Result<Sessions>> => {
  const { ports, journal, store, config, emit } = options
  let supervisor: "serving" | "ending" = "serving"
  const isolation: Isolation = chooseIsolation(`computerd-${config.computerId}`)
  journal.record({ event: "isolation_chosen", isolation: isolation.kind, reason: isolation.reason })
  const isKnown = (folder: string): boolean => store.sessions.all().some((row) => row.sessionId === folder)
  const logs: Logs = createLogs({
    directory: join(config.stateDirectory, "logs"),
    ports,
    journal,
    keeps: isKnown,
  })

  const taskFailed = (task: string, error: unknown): void =>
    journal.record({ event: "session_task_failed", task, message: messageOf(error) })

  const disconnect = (process: ProcessIdentity, cause: "exited" | "shutting_down"): void => {
    options.disconnect(process, cause).catch((error: unknown) => taskFailed("disconnect", error))
  }

  const connectionFor = async (process: ProcessIdentity, request: ConnectionRequest) => {
    try {
      return await options.connect(process, request.policy)
    } catch (error) {
      taskFailed("connect", error)
      return fail("internal", "the connection could not be made: see the supervisor's log")
    }
  }

  const isCurrent = ({ sessionId, generation }: ProcessIdentity): boolean =>
    store.processes.get(sessionId)?.generation === generation

  /** Answers the getter. Only a process that is still the Session's gets one. */
  const connect = async (process: ProcessIdentity, request: ConnectionRequest): Promise<void> => {
    const { sessionId } = process
    const result = await connectionFor(process, request)
    if (!isCurrent(process)) return
    frames.remember(sessionId, request.requestId, result)
    if (!store.transaction(() => frames.pushConnection(sessionId, request))) overflowed(sessionId)
    channel.flush(sessionId)
  }

  const askAgain = async (process: ProcessIdentity, request: ConnectionRequest): Promise<void> => {
    const result = await connectionFor(process, request)
    if (!isCurrent(process)) return
    frames.remember(process.sessionId, request.requestId, result)
    channel.flush(process.sessionId)
  }

  const frames: DownFrames = createDownFrames({
    store,
    askAgain: (process, request) => {
      askAgain(process, request).catch((error: unknown) => taskFailed("connect", error))
    },
  })

  const overflowed = (sessionId: SessionId): void => {
    const cause = { kind: "unknown", message: "it left too many frames of its channel unread" } as const
    runs.get(sessionId)?.end(cause, 0)
  }

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
  const commands = createCommands({ journal, store, turns, emit })

  const runs: Runs = createRuns({
    ...options,
    isolation,
    logs,
    frames,
    channelUrl: () => channel.url,
    flush: (sessionId) => channel.flush(sessionId),
    stopping: (process) => disconnect(process, "shutting_down"),
    exited: (process) => {
      channel.drop(process)
      disconnect(process, "exited")
      drive(process.sessionId)
    },
  })

  const giveTurn = (sessionId: SessionId): void => {
    const row = store.sessions.get(sessionId)
    if (row?.turn === undefined) return
    store.transaction(() => turns.give(row))
    runs.get(sessionId)?.handle({ kind: "turn_given", turnId: row.turn.data.id })
    channel.flush(sessionId)
  }

  const forget = (sessionId: SessionId): void => {
    store.transaction(() => forgetSession({ store, emit }, sessionId))
    journal.record({ event: "session_released", sessionId })
    logs.prune()
  }

  /** One step; each that changes something leads to another look. */
  const step = (sessionId: SessionId): void => {
    const row = store.sessions.get(sessionId)
    if (row === undefined) return
    const run = runs.get(sessionId)
    const next = nextStep({ row, process: run?.state().kind ?? "none", supervisor })
    switch (next.do) {
      case "nothing":
        channel.flush(sessionId)
        break
      case "start":
        runs.start(row)
        break
      case "give_turn":
        giveTurn(sessionId)
        break
      case "end":
        run?.end({ kind: "shutdown" }, next.graceMs)
        break
      case "forget":
        forget(sessionId)
        break
      default:
        next satisfies never
    }
  }

  const drive = (sessionId: SessionId): void => {
    try {
      step(sessionId)
    } catch (error) {
      journal.record({ event: "store_write_failed", during: "next step", message: messageOf(error) })
      if (supervisor === "serving") ports.timers.after(retryDriveMs, () => drive(sessionId))
    }
  }

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
    connect: (process, request) => {
      connect(process, request).catch((error: unknown) => taskFailed("connect", error))
    },
  })

  const opened = openChannelServer({
    ports,
    journal,
    store,
    config,
    owner: { apply: reports, wire: frames.wire },
  })
  if (!opened.ok) {
    logs.close()
    return opened
  }
  const channel: ChannelServer = opened.value
  await endInherited({ ports, journal, store, emit })

  const stopRuns = async (deadlineMs: number): Promise<readonly string[]> => {
    const living = runs.all()
    const graceMs = Math.min(stopGraceMs, Math.max(0, deadlineMs - killReserveMs))
    for (const run of living) run.end({ kind: "shutdown" }, graceMs)
    await within(ports.timers, deadlineMs, Promise.all(living.map((run) => run.ended)))
    return runs
      .all()
      .map(({ identity, pid }) => `the process of ${identity.sessionId} (pid ${pid() ?? "unknown"}) lives on`)
  }

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
    living: () => livingProcesses(runs.all()),
    view: () => store.sessions.all().map((row) => viewOf(row, runs.get(row.sessionId), supervisor)),
    find: (sessionId) => {
      const row = store.sessions.get(sessionId)
      return row === undefined ? undefined : viewOf(row, runs.get(sessionId), supervisor)
    },
    stop: async (deadlineMs) => {
      supervisor = "ending"
      const failed = await stopRuns(deadlineMs)
      await channel.close()
      logs.close()
      if (isolation.kind === "cgroup") removeGroup(isolation.directory)
      return failed
    },
  })
}
