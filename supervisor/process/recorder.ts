/**
 * Keeps how Session processes end while no supervisor runs. A descriptor of each living one lies in a queue inside the
 * kernel, whose reading end a holder keeps open; through such a descriptor the kernel tells of the exit even when the
 * process has long been collected. One small holder serves the whole Computer, and no start waits for it.
 *
 * ER1 how a process ended comes from the kernel through the descriptor of that very process, or is not known
 * ER2 a queue is only added to: when it holds much that is over, or its holder died, a new queue with a new holder takes
 *     its place, and the old holder ends after the new one is on record
 * ER3 what is in the queue stays there until its exit is on record
 */
import type { ComputerId } from "@computerd/protocol/ids"
import type { ExitReason } from "@computerd/protocol/link"
import type { Journal } from "../journal.ts"
import type { Cancel, Timers } from "../ports.ts"
import { type Holder, heldAs, startHolder } from "./holder.ts"
import type { ProcessStamp } from "./identity.ts"
import { closeDescriptor } from "./libc.ts"
import { exitOf, openLiving, takeDescriptor } from "./pidfd.ts"
import { closeQueue, openQueue, type PidfdQueue, peekAll, push, type Queued } from "./pidfd-queue.ts"
import { lives, readKernelFacts } from "./procfs.ts"
import { whyNotRecordable } from "./recordable.ts"
import { killNow } from "./tree.ts"

export interface ExitRecorder {
  /** Its exit will be known to the next supervisor. Takes microseconds. */
  readonly keep: (process: ProcessStamp) => void
  /** Its exit is on record, so nobody will ask. */
  readonly forget: (process: ProcessStamp) => void
  /** How a process that is kept has ended. */
  readonly exitOf: (process: ProcessStamp) => ExitReason | undefined
  /** Holders that this process has started and the runtime collects. */
  readonly started: () => readonly number[]
  /** Whether the process is a holder that is needed still, whoever started it. */
  readonly needs: (pid: number) => boolean
  /** What still runs stays kept for the next supervisor, for a day. */
  readonly close: () => void
}

export interface RecorderOptions {
  readonly timers: Timers
  readonly journal: Journal
  readonly computerId: ComputerId
  readonly bootId: string
  /** The holder of the supervisor before. */
  readonly previous: ProcessStamp | undefined
  /** Makes it durable which process the holder is. */
  readonly remember: (holder: ProcessStamp) => void
  /** Whether the process is on record as one that has not ended. */
  readonly isAwaited: (process: ProcessStamp) => boolean
  readonly idleMs?: number
}

/** Entries of processes that are over, beyond which the queue is replaced. */
const overMax = 256
/** A holder with nothing to keep stays so long for the next process. */
const idleDefaultMs = 10_000
const holdAgainMs = 1_000

interface Queue extends PidfdQueue {
  pushed: number
}

const keyOf = ({ pid, startTime }: Pick<ProcessStamp, "pid" | "startTime">): string => `${pid} ${startTime}`

class Recorder implements ExitRecorder {
  readonly #options: RecorderOptions
  readonly #kept = new Map<string, Queued>()
  readonly #started = new Set<number>()
  #queue: Queue | undefined
  #holder: Holder | undefined
  #outdated: ProcessStamp | undefined
  #cancelIdle: Cancel | undefined
  #cancelRenewal: Cancel | undefined
  #health: "well" | "degraded" = "well"

  constructor(options: RecorderOptions) {
    this.#options = options
    const { previous } = options
    if (previous !== undefined && lives(previous)) this.#inherit(previous)
  }

  keep(process: ProcessStamp): void {
    if (this.#kept.has(keyOf(process))) return
    const pidfd = openLiving(process)
    if (pidfd === undefined) return
    const item = { process, pidfd }
    this.#kept.set(keyOf(process), item)
    this.#cancelIdle?.()
    if (this.#queue === undefined || !this.#push(this.#queue, [item])) this.#renewIn(0)
  }

  forget(process: ProcessStamp): void {
    const item = this.#kept.get(keyOf(process))
    if (item === undefined) return
    this.#kept.delete(keyOf(process))
    closeDescriptor(item.pidfd)
    if (this.#kept.size > 0) return
    const { timers, idleMs = idleDefaultMs } = this.#options
    this.#cancelIdle?.()
    this.#cancelIdle = timers.after(idleMs, () => this.#rest())
  }

  exitOf(process: ProcessStamp): ExitReason | undefined {
    const item = this.#kept.get(keyOf(process))
    return item && exitOf(item.pidfd)
  }

  started(): readonly number[] {
    return [...this.#started]
  }

  needs(pid: number): boolean {
    return this.#started.has(pid) || this.#outdated?.pid === pid
  }

  close(): void {
    this.#cancelIdle?.()
    this.#cancelRenewal?.()
    if (this.#kept.size > 0) this.#leave()
    else this.#rest()
  }

  #leave(): void {
    for (const { pidfd } of this.#kept.values()) closeDescriptor(pidfd)
    this.#kept.clear()
    const holder = this.#holder
    this.#holder = undefined
    holder?.leave()
    this.#dropQueue()
  }

  /** ER3 */
  #inherit(previous: ProcessStamp): void {
    const { bootId, isAwaited } = this.#options
    const reading = takeDescriptor(previous.pid, heldAs)
    const found = reading === undefined ? [] : peekAll(reading)
    if (reading === undefined) this.#degrade("what the supervisor before has kept could not be taken over")
    else closeDescriptor(reading)
    for (const item of found) {
      const isKnown = this.#kept.has(keyOf(item.process))
      if (!isKnown && isAwaited({ ...item.process, bootId })) this.#kept.set(keyOf(item.process), item)
      else closeDescriptor(item.pidfd)
    }
    this.#outdated = previous
    if (this.#kept.size > 0) this.#renewIn(0)
    else this.#endOutdated()
  }

  #push(queue: Queue, items: readonly Queued[]): boolean {
    queue.pushed += items.length
    return queue.pushed - this.#kept.size <= overMax && push(queue, items)
  }

  #renewIn(delayMs: number): void {
    this.#cancelRenewal ??= this.#options.timers.after(delayMs, () => {
      this.#cancelRenewal = undefined
      this.#renew()
    })
  }

  /** ER2 */
  #renew(): void {
    const queue = openQueue()
    try {
      if (queue === undefined) throw new Error("the kernel gives no socket")
      const next = { ...queue, pushed: 0 }
      if (!this.#push(next, [...this.#kept.values()])) throw new Error("the kernel keeps no more descriptors")
      const holder = this.#hold(next)
      this.#dropQueue()
      this.#queue = next
      this.#holder?.kill()
      this.#holder = holder
      this.#endOutdated()
      this.#recover()
    } catch (error) {
      if (queue !== undefined) closeQueue(queue)
      this.#degrade(error instanceof Error ? error.message : String(error))
      this.#renewIn(holdAgainMs)
    }
  }

  #hold({ reading }: Queue): Holder {
    const { computerId, bootId, remember } = this.#options
    const ended = (): void => this.#ended(holder)
    const holder = startHolder({ computerId, bootId, descriptor: reading, ended })
    this.#started.add(holder.stamp.pid)
    try {
      remember(holder.stamp)
    } catch (error) {
      holder.kill()
      throw error
    }
    return holder
  }

  #ended(holder: Holder): void {
    this.#started.delete(holder.stamp.pid)
    if (this.#holder !== holder) return
    this.#holder = undefined
    if (this.#kept.size > 0) this.#renewIn(holdAgainMs)
  }

  /** Nothing is to be kept. */
  #rest(): void {
    const holder = this.#holder
    this.#holder = undefined
    holder?.kill()
    this.#dropQueue()
    this.#endOutdated()
  }

  #dropQueue(): void {
    if (this.#queue !== undefined) closeQueue(this.#queue)
    this.#queue = undefined
  }

  #endOutdated(): void {
    if (this.#outdated !== undefined && lives(this.#outdated)) killNow(this.#outdated.pid)
    this.#outdated = undefined
  }

  #degrade(reason: string): void {
    this.#health = "degraded"
    this.#options.journal.record({ event: "care_degraded", aspect: "exit_recorder", reason })
  }

  #recover(): void {
    if (this.#health === "well") return
    this.#health = "well"
    this.#options.journal.record({ event: "care_restored", aspect: "exit_recorder" })
  }
}

/** Where the kernel does not tell. */
const nothingKept: ExitRecorder = {
  keep: () => undefined,
  forget: () => undefined,
  exitOf: () => undefined,
  started: () => [],
  needs: () => false,
  close: () => undefined,
}

export const createExitRecorder = (options: RecorderOptions): ExitRecorder => {
  const reason = whyNotRecordable(readKernelFacts())
  if (reason === undefined) return new Recorder(options)
  options.journal.record({ event: "care_degraded", aspect: "exit_recorder", reason })
  return nothingKept
}
