/**
 * One run of a Session process: from its bundle to the proof that its whole tree is gone. Owns the process, its
 * timers and the states of `process/machine.ts`; what must be durable is written by the callbacks.
 *
 * RN1 the start is a race of readiness, exit and deadline; whichever loses is silenced
 * RN2 `exited` is reported once, after the tree has been ended
 * RN3 a run that was inherited goes on where it was: a begun stop goes on, and its process must come back in time
 * RN4 what is frozen for want of a lease cannot end by itself and is to do nothing more: a stop kills it at once
 */
import type { Result } from "@computerd/protocol/errors"
import type { TurnId } from "@computerd/protocol/ids"
import type { ExitReason } from "@computerd/protocol/link"
import type { Journal } from "../journal.ts"
import type { Cancel, Ports, Timers } from "../ports.ts"
import { isGroupFrozen } from "../process/freeze.ts"
import type { ProcessIdentity, ProcessStamp } from "../process/identity.ts"
import type { Loss } from "../process/loss.ts"
import {
  initialState,
  type ProcessEvent,
  type ProcessState,
  type StopCause,
  transition,
} from "../process/machine.ts"
import { isSuspended } from "../process/procfs.ts"
import type { SpawnedProcess } from "../process/spawn.ts"
import { killTree, type Tree } from "../process/tree.ts"

export type ExitedState = Extract<ProcessState, { readonly kind: "exited" }>

/** How the run began: here, or under an earlier supervisor. */
export type Origin =
  | {
      readonly kind: "started"
      readonly bundle: () => Promise<Result<string>>
      readonly spawn: (bundlePath: string) => Result<SpawnedProcess>
      /** Makes it durable which process this is. */
      readonly spawned: (stamp: ProcessStamp) => void
    }
  | {
      readonly kind: "inherited"
      /** Unset: nobody wrote down which process it was. */
      readonly stamp: ProcessStamp | undefined
      readonly exited: Promise<ExitReason>
      readonly look: () => void
      readonly state: Exclude<ProcessState, { readonly kind: "exited" }>
      /** The process had ended before anybody here could see it. */
      readonly isGone?: true
      readonly blame: Loss["blame"]
      /** Of the stop that was begun, if one was. */
      readonly graceMs: number
      /** Within which it must have connected. */
      readonly reattachMs: number
    }

type Inherited = Extract<Origin, { readonly kind: "inherited" }>

export interface RunDeps {
  readonly ports: Ports
  readonly journal: Journal
  readonly identity: ProcessIdentity
  readonly marker: string
  readonly cgroup: string | undefined
  /** From spawn until the channel says ready. */
  readonly startTimeoutMs: number
  readonly origin: Origin
  /** In the time of Session processes, for what a process is held to. */
  readonly limits: Timers
  /** For want of a lease. */
  readonly isFrozen: () => boolean
  /** Asks the process to end by itself within the time. */
  readonly askToEnd: (graceMs: number) => void
  readonly stopping: (cause: StopCause, graceMs: number) => void
  readonly exited: (state: ExitedState) => void
}

/** In so many steps the time passes within which a process must have connected. */
const reattachSteps = 10
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
  #cancelReattach = nothing
  #cancelTurnLimit = nothing
  #cancelStop = nothing
  #killing: Promise<unknown> = Promise.resolve()

  constructor(deps: RunDeps) {
    this.identity = deps.identity
    this.#deps = deps
    this.#startedMs = deps.ports.clock.monotonicMs()
    if (deps.origin.kind === "inherited") this.#inherit(deps.origin)
    this.ended = this.#live()
      .catch((error: unknown): ExitReason => ({ kind: "spawn_failed", message: messageOf(error) }))
      .then((reason) => this.#finish(reason))
      .catch((error: unknown) => this.#taskFailed(error))
  }

  get state(): ProcessState {
    return this.#state
  }

  /** It is being ended for certain; nothing of it can be used any more. */
  get isGone(): boolean {
    const { origin } = this.#deps
    return this.#state.kind === "exited" || (origin.kind === "inherited" && origin.isGone === true)
  }

  get stamp(): ProcessStamp | undefined {
    return this.#stamp
  }

  get pid(): number | undefined {
    return this.isGone ? undefined : this.#stamp?.pid
  }

  /** What must end or stand still with it. */
  get tree(): Tree {
    const { marker, cgroup } = this.#deps
    return { root: this.#stamp, marker, cgroup }
  }

  /** Of a process that is a child of this one, until the runtime has told of its end. */
  get startedPid(): number | undefined {
    return this.#deps.origin.kind === "started" && this.#state.kind !== "exited"
      ? this.#stamp?.pid
      : undefined
  }

  /** Whose doing an end of this run is, unless its reason says otherwise. */
  get blame(): Loss["blame"] {
    const { origin } = this.#deps
    return origin.kind === "inherited" ? origin.blame : "program"
  }

  /** What the channel said, and Turns given. */
  handle(event: ProcessEvent): void {
    this.#move(event, event.kind === "failed" ? failedExitMs : 0)
  }

  /** The process has come to its channel. */
  connected(): void {
    this.#cancelReattach()
  }

  /** The connection of the process has ended, which may be because it has. */
  disconnected(): void {
    if (this.#deps.origin.kind === "inherited") this.#deps.origin.look()
  }

  /** The Turn must have ended by then, or the process is. */
  limitTurn(turnId: TurnId, graceMs: number): void {
    this.#cancelTurnLimit()
    this.#cancelTurnLimit = this.#deps.limits.after(graceMs, () =>
      this.#move({ kind: "cancel_expired", turnId, afterMs: graceMs }, 0),
    )
  }

  end(cause: StopCause, graceMs: number): void {
    this.#move({ kind: "stop", cause }, graceMs)
  }

  async #live(): Promise<ExitReason> {
    const { origin } = this.#deps
    if (origin.kind === "inherited") return await origin.exited
    const bundle = await Promise.race([origin.bundle(), this.#abandoned.promise])
    // A stop that came while the bundle was about to be there was told to nobody yet.
    if (bundle === "abandoned" || this.#state.kind === "stopping") return { kind: "shutdown" }
    if (!bundle.ok) return { kind: "spawn_failed", message: bundle.error.message }
    const spawned = origin.spawn(bundle.value)
    if (!spawned.ok) return { kind: "spawn_failed", message: spawned.error.message }
    this.#watch(spawned.value.stamp, origin.spawned)
    return await spawned.value.exited
  }

  /** RN3. The time in which nobody supervised it is not held against a process: its deadlines begin anew. */
  #inherit({ stamp, state, graceMs, reattachMs, isGone }: Inherited): void {
    this.#stamp = stamp
    this.#state = state
    if (isGone) return
    if (state.kind === "starting") this.#limitStart()
    if (state.kind === "stopping") this.#stopWithin(state.cause, graceMs)
    else this.#awaitReattach(reattachMs)
  }

  /**
   * A stopped process cannot come back; whoever stopped it lets it go on, and then it has its whole time. So it is looked
   * at in steps.
   */
  #awaitReattach(limitMs: number, steps = reattachSteps): void {
    this.#cancelReattach = this.#deps.limits.after(limitMs / reattachSteps, () => {
      // One more than the whole: it may go on in the middle of the next step.
      if (this.#isHalted()) return this.#awaitReattach(limitMs, reattachSteps + 1)
      if (steps > 1) return this.#awaitReattach(limitMs, steps - 1)
      const message = `it did not come back within ${limitMs} ms`
      this.#move({ kind: "stop", cause: { kind: "not_reattached", message } }, 0)
    })
  }

  #isHalted(): boolean {
    const { root, cgroup } = this.tree
    if (cgroup !== undefined && isGroupFrozen(cgroup)) return true
    return root !== undefined && isSuspended(root.pid)
  }

  #limitStart(): void {
    const { startTimeoutMs } = this.#deps
    this.#cancelStart = this.#deps.limits.after(startTimeoutMs, () =>
      this.#move({ kind: "start_expired", afterMs: startTimeoutMs }, 0),
    )
  }

  /** RN1 */
  #watch(stamp: ProcessStamp, spawned: (stamp: ProcessStamp) => void): void {
    this.#stamp = stamp
    this.#deps.journal.record({ event: "process_spawned", ...this.identity, pid: stamp.pid })
    this.#limitStart()
    try {
      spawned(stamp)
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
    this.#cancelReattach()
    this.#cancelTurnLimit()
    this.#deps.journal.record({ event: "process_stopping", ...this.identity, cause: cause.kind })
    this.#deps.stopping(cause, graceMs)
    if (this.#stamp === undefined) this.#abandoned.resolve("abandoned")
    else this.#stopWithin(cause, graceMs)
  }

  #stopWithin(cause: StopCause, graceMs: number): void {
    const isGentle = cause.kind === "shutdown" && !this.#deps.isFrozen()
    if (isGentle) this.#deps.askToEnd(graceMs)
    if (isGentle) this.#killAfter(graceMs + exitMarginMs, cause.kind)
    else this.#killAfter(this.#deps.isFrozen() ? 0 : graceMs, cause.kind)
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
    const { ports, journal } = this.#deps
    const { killed, survivors } = await killTree(ports, this.tree, limitMs)
    if (killed > 0) journal.record({ event: "tree_killed", ...this.identity, cause, survivors })
    return survivors
  }

  /** RN2 */
  async #finish(reason: ExitReason): Promise<void> {
    this.#cancelStart()
    this.#cancelReattach()
    this.#cancelTurnLimit()
    this.#cancelStop()
    await this.#killing
    const isKnown = this.#stamp !== undefined || this.#deps.origin.kind === "inherited"
    if (isKnown) await this.#kill("remains", this.isGone ? killRoundMs : remainsMs)
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
