/**
 * One run of a Session process: from its bundle to the proof that its whole tree is gone. Owns the process, its
 * timers and the states of `process/machine.ts`; what must be durable is written by the callbacks.
 *
 * RN1 the start is a race of readiness, exit and deadline; whichever loses is silenced
 * RN2 `exited` is reported once, after the tree has been ended
 */
import type { Result } from "@computerd/protocol/errors"
import type { TurnId } from "@computerd/protocol/ids"
import type { ExitReason } from "@computerd/protocol/link"
import type { Journal } from "../journal.ts"
import type { Cancel, Ports } from "../ports.ts"
import type { ProcessIdentity, ProcessStamp } from "../process/identity.ts"
import {
  initialState,
  type ProcessEvent,
  type ProcessState,
  type StopCause,
  transition,
} from "../process/machine.ts"
import type { SpawnedProcess } from "../process/spawn.ts"
import { killTree } from "../process/tree.ts"

export type ExitedState = Extract<ProcessState, { readonly kind: "exited" }>

export interface RunLimits {
  /** From spawn until the channel says ready. */
  readonly startTimeoutMs: number
}

export interface RunDeps {
  readonly ports: Ports
  readonly journal: Journal
  readonly identity: ProcessIdentity
  readonly marker: string
  readonly cgroup: string | undefined
  readonly limits: RunLimits
  readonly bundle: () => Promise<Result<string>>
  readonly spawn: (bundlePath: string) => Result<SpawnedProcess>
  /** Makes it durable which process this is. */
  readonly spawned: (stamp: ProcessStamp) => void
  /** Asks the process to end by itself within the time. */
  readonly askToEnd: (graceMs: number) => void
  readonly stopping: (cause: StopCause) => void
  readonly exited: (state: ExitedState) => void
}

export interface Run {
  readonly identity: ProcessIdentity
  readonly state: () => ProcessState
  readonly pid: () => number | undefined
  /** What the channel said, and Turns given. */
  readonly handle: (event: ProcessEvent) => void
  /** The Turn must have ended by then, or the process is. */
  readonly limitTurn: (turnId: TurnId, graceMs: number) => void
  readonly end: (cause: StopCause, graceMs: number) => void
  readonly ended: Promise<void>
}

/** A process that reported its failure ends by itself at once. */
const failedExitMs = 2000
/** After its grace, for the exit itself. */
const exitMarginMs = 250
/** One round of killing; rounds go on until the tree is empty. */
const killRoundMs = 5000
const killAgainMs = 1000
/** For what a process that ended by itself left behind. */
const remainsMs = 1000

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export const startRun = (deps: RunDeps): Run => {
  const { ports, journal, identity } = deps
  let state: ProcessState = initialState
  let stamp: ProcessStamp | undefined
  let cancelStart: Cancel = () => undefined
  let cancelTurnLimit: Cancel = () => undefined
  let cancelStop: Cancel = () => undefined
  let killing: Promise<unknown> = Promise.resolve()
  const startedMs = ports.clock.monotonicMs()
  const abandoned = Promise.withResolvers<"abandoned">()
  const ended = Promise.withResolvers<void>()

  const tree = () => ({ root: stamp, marker: deps.marker, cgroup: deps.cgroup })

  const kill = async (cause: string, limitMs: number): Promise<readonly number[]> => {
    const { killed, survivors } = await killTree(ports, tree(), limitMs)
    if (killed > 0) journal.record({ event: "tree_killed", ...identity, cause, survivors })
    return survivors
  }

  /** Goes on until the kernel reports the exit: a process in an uninterruptible wait dies late. */
  const killUntilGone = async (cause: string): Promise<void> => {
    const round = kill(cause, killRoundMs)
    killing = round.catch(() => undefined)
    const survivors = await round
    if (survivors.length > 0 && state.kind !== "exited")
      cancelStop = ports.timers.after(killAgainMs, () => inBackground(killUntilGone(cause)))
  }

  const inBackground = (work: Promise<void>): void => {
    work.catch((error: unknown) =>
      journal.record({ event: "session_task_failed", task: "process", message: messageOf(error) }),
    )
  }

  const beginStop = (cause: StopCause, graceMs: number): void => {
    cancelStart()
    cancelTurnLimit()
    journal.record({ event: "process_stopping", ...identity, cause: cause.kind })
    deps.stopping(cause)
    if (stamp === undefined) {
      abandoned.resolve("abandoned")
      return
    }
    const gentle = cause.kind === "shutdown"
    if (gentle) deps.askToEnd(graceMs)
    const waitsMs = gentle ? graceMs + exitMarginMs : graceMs
    if (waitsMs === 0) inBackground(killUntilGone(cause.kind))
    else cancelStop = ports.timers.after(waitsMs, () => inBackground(killUntilGone(cause.kind)))
  }

  const move = (event: ProcessEvent, graceMs: number): void => {
    const next = transition(state, event)
    if (next === undefined) return
    const before = state.kind
    state = next
    if (next.kind === "stopping" && before !== "stopping") beginStop(next.cause, graceMs)
    if (next.kind === "ready") cancelTurnLimit()
    if (before === "starting" && next.kind === "ready") {
      cancelStart()
      const afterMs = Math.round(ports.clock.monotonicMs() - startedMs)
      journal.record({ event: "process_ready", ...identity, afterMs })
    }
  }

  const finish = async (reason: ExitReason): Promise<void> => {
    cancelStart()
    cancelTurnLimit()
    cancelStop()
    await killing
    if (stamp !== undefined) await kill("remains", remainsMs)
    move({ kind: "died", reason }, 0)
    if (state.kind === "exited") deps.exited(state)
    ended.resolve()
  }

  const watch = async (child: SpawnedProcess): Promise<ExitReason> => {
    stamp = child.stamp
    journal.record({ event: "process_spawned", ...identity, pid: stamp.pid })
    const { startTimeoutMs } = deps.limits
    cancelStart = ports.timers.after(startTimeoutMs, () =>
      move({ kind: "start_expired", afterMs: startTimeoutMs }, 0),
    )
    try {
      deps.spawned(child.stamp)
    } catch (error) {
      const message = `the process could not be recorded: ${messageOf(error)}`
      move({ kind: "stop", cause: { kind: "spawn_failed", message } }, 0)
    }
    return child.exited
  }

  const live = async (): Promise<ExitReason> => {
    const bundle = await Promise.race([deps.bundle(), abandoned.promise])
    if (bundle === "abandoned") return { kind: "shutdown" }
    if (!bundle.ok) return { kind: "spawn_failed", message: bundle.error.message }
    const spawned = deps.spawn(bundle.value)
    if (!spawned.ok) return { kind: "spawn_failed", message: spawned.error.message }
    return await watch(spawned.value)
  }

  inBackground(
    live()
      .catch((error: unknown): ExitReason => ({ kind: "spawn_failed", message: messageOf(error) }))
      .then(finish),
  )

  return {
    identity,
    state: () => state,
    pid: () => (state.kind === "exited" ? undefined : stamp?.pid),
    handle: (event) => move(event, event.kind === "failed" ? failedExitMs : 0),
    limitTurn: (turnId, graceMs) => {
      cancelTurnLimit()
      cancelTurnLimit = ports.timers.after(graceMs, () =>
        move({ kind: "cancel_expired", turnId, afterMs: graceMs }, 0),
      )
    },
    end: (cause, graceMs) => move({ kind: "stop", cause }, graceMs),
    ended: ended.promise,
  }
}
