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

export interface RunDeps {
  readonly ports: Ports
  readonly journal: Journal
  readonly identity: ProcessIdentity
  readonly marker: string
  readonly cgroup: string | undefined
  /** From spawn until the channel says ready. */
  readonly startTimeoutMs: number
  readonly bundle: () => Promise<Result<string>>
  readonly spawn: (bundlePath: string) => Result<SpawnedProcess>
  /** Makes it durable which process this is. */
  readonly spawned: (stamp: ProcessStamp) => void
  /** Asks the process to end by itself within the time. */
  readonly askToEnd: (graceMs: number) => void
  readonly stopping: () => void
  readonly exited: (state: ExitedState) => void
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

const nothing: Cancel = () => undefined

/** Lives from its making on. */
export class Run {
  readonly identity: ProcessIdentity
  readonly ended: Promise<void>
  readonly #deps: RunDeps
  readonly #startedMs: number
  readonly #abandoned = Promise.withResolvers<"abandoned">()
  #state: ProcessState = initialState
  #stamp: ProcessStamp | undefined
  #cancelStart = nothing
  #cancelTurnLimit = nothing
  #cancelStop = nothing
  #killing: Promise<unknown> = Promise.resolve()

  constructor(deps: RunDeps) {
    this.identity = deps.identity
    this.#deps = deps
    this.#startedMs = deps.ports.clock.monotonicMs()
    this.ended = this.#live()
      .catch((error: unknown): ExitReason => ({ kind: "spawn_failed", message: messageOf(error) }))
      .then((reason) => this.#finish(reason))
      .catch((error: unknown) => this.#taskFailed(error))
  }

  get state(): ProcessState {
    return this.#state
  }

  get pid(): number | undefined {
    return this.#state.kind === "exited" ? undefined : this.#stamp?.pid
  }

  /** What the channel said, and Turns given. */
  handle(event: ProcessEvent): void {
    this.#move(event, event.kind === "failed" ? failedExitMs : 0)
  }

  /** The Turn must have ended by then, or the process is. */
  limitTurn(turnId: TurnId, graceMs: number): void {
    this.#cancelTurnLimit()
    this.#cancelTurnLimit = this.#after(graceMs, () =>
      this.#move({ kind: "cancel_expired", turnId, afterMs: graceMs }, 0),
    )
  }

  end(cause: StopCause, graceMs: number): void {
    this.#move({ kind: "stop", cause }, graceMs)
  }

  async #live(): Promise<ExitReason> {
    const bundle = await Promise.race([this.#deps.bundle(), this.#abandoned.promise])
    if (bundle === "abandoned") return { kind: "shutdown" }
    if (!bundle.ok) return { kind: "spawn_failed", message: bundle.error.message }
    const spawned = this.#deps.spawn(bundle.value)
    if (!spawned.ok) return { kind: "spawn_failed", message: spawned.error.message }
    this.#watch(spawned.value.stamp)
    return await spawned.value.exited
  }

  /** RN1 */
  #watch(stamp: ProcessStamp): void {
    const { journal, startTimeoutMs } = this.#deps
    this.#stamp = stamp
    journal.record({ event: "process_spawned", ...this.identity, pid: stamp.pid })
    this.#cancelStart = this.#after(startTimeoutMs, () =>
      this.#move({ kind: "start_expired", afterMs: startTimeoutMs }, 0),
    )
    try {
      this.#deps.spawned(stamp)
    } catch (error) {
      const message = `the process could not be recorded: ${messageOf(error)}`
      this.end({ kind: "spawn_failed", message }, 0)
    }
  }

  #move(event: ProcessEvent, graceMs: number): void {
    const before = this.#state
    const next = transition(before, event)
    if (next === undefined) return
    this.#state = next
    if (next.kind === "stopping" && before.kind !== "stopping") this.#beginStop(next.cause, graceMs)
    if (next.kind === "ready") this.#cancelTurnLimit()
    if (next.kind === "ready" && before.kind === "starting") this.#becomeReady()
  }

  #becomeReady(): void {
    const { ports, journal } = this.#deps
    this.#cancelStart()
    const afterMs = Math.round(ports.clock.monotonicMs() - this.#startedMs)
    journal.record({ event: "process_ready", ...this.identity, afterMs })
  }

  #beginStop(cause: StopCause, graceMs: number): void {
    this.#cancelStart()
    this.#cancelTurnLimit()
    this.#deps.journal.record({ event: "process_stopping", ...this.identity, cause: cause.kind })
    this.#deps.stopping()
    if (this.#stamp === undefined) {
      this.#abandoned.resolve("abandoned")
      return
    }
    const isGentle = cause.kind === "shutdown"
    if (isGentle) this.#deps.askToEnd(graceMs)
    this.#killAfter(isGentle ? graceMs + exitMarginMs : graceMs, cause.kind)
  }

  #killAfter(delayMs: number, cause: string): void {
    if (delayMs === 0) this.#killUntilGone(cause)
    else this.#cancelStop = this.#after(delayMs, () => this.#killUntilGone(cause))
  }

  /** Goes on until the kernel reports the exit: a process in an uninterruptible wait dies late. */
  #killUntilGone(cause: string): void {
    const round = this.#kill(cause, killRoundMs).then((survivors) => {
      if (survivors.length > 0 && this.#state.kind !== "exited") this.#killAfter(killAgainMs, cause)
    })
    this.#killing = round.catch((error: unknown) => this.#taskFailed(error))
  }

  async #kill(cause: string, limitMs: number): Promise<readonly number[]> {
    const { ports, journal, marker, cgroup } = this.#deps
    const { killed, survivors } = await killTree(ports, { root: this.#stamp, marker, cgroup }, limitMs)
    if (killed > 0) journal.record({ event: "tree_killed", ...this.identity, cause, survivors })
    return survivors
  }

  /** RN2 */
  async #finish(reason: ExitReason): Promise<void> {
    this.#cancelStart()
    this.#cancelTurnLimit()
    this.#cancelStop()
    await this.#killing
    if (this.#stamp !== undefined) await this.#kill("remains", remainsMs)
    this.#move({ kind: "died", reason }, 0)
    if (this.#state.kind === "exited") this.#deps.exited(this.#state)
  }

  #after(delayMs: number, fire: () => void): Cancel {
    return this.#deps.ports.timers.after(delayMs, fire)
  }

  #taskFailed(error: unknown): void {
    this.#deps.journal.record({ event: "session_task_failed", task: "process", message: messageOf(error) })
  }
}
