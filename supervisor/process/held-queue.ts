/**
 * The queue that keeps descriptors of processes beyond the life of this supervisor, with the holder that keeps it open.
 *
 * HQ1 a queue is only added to: when it holds much that is over, or its holder died, a new queue with a new holder takes
 *     its place, and the old holder ends after the new one is on record
 */
import type { ComputerId } from "@computerd/protocol/ids"
import type { Journal } from "../journal.ts"
import type { Cancel, Timers } from "../ports.ts"
import { type Holder, heldAs, startHolder } from "./holder.ts"
import type { ProcessStamp } from "./identity.ts"
import { closeDescriptor } from "./libc.ts"
import { takeDescriptor } from "./pidfd.ts"
import { closeQueue, openQueue, type PidfdQueue, peekAll, push, type Queued } from "./pidfd-queue.ts"
import { lives } from "./procfs.ts"
import { killNow } from "./tree.ts"

export interface HeldQueueOptions {
  readonly timers: Timers
  readonly journal: Journal
  readonly computerId: ComputerId
  readonly bootId: string
  /** Makes it durable which process the holder is. */
  readonly remember: (holder: ProcessStamp) => void
  /** All that is to be in it. */
  readonly kept: () => readonly Queued[]
}

/** Entries of processes that are over, beyond which the queue is replaced. */
const overMax = 256
const holdAgainMs = 1_000

interface Queue extends PidfdQueue {
  pushed: number
}

export class HeldQueue {
  readonly #options: HeldQueueOptions
  readonly #started = new Set<number>()
  #queue: Queue | undefined
  #holder: Holder | undefined
  #outdated: ProcessStamp | undefined
  #cancelRenewal: Cancel | undefined
  #health: "well" | "degraded" = "well"

  constructor(options: HeldQueueOptions) {
    this.#options = options
  }

  /** Holders that this process has started and the runtime collects. */
  get started(): readonly number[] {
    return [...this.#started]
  }

  /** Whether the process is a holder that is needed still, whoever started it. */
  needs(pid: number): boolean {
    return this.#started.has(pid) || this.#outdated?.pid === pid
  }

  /** What an earlier supervisor's holder keeps; that one ends once another is on record, or with `rest`. */
  inherit(holder: ProcessStamp): readonly Queued[] {
    this.#outdated = holder
    const reading = takeDescriptor(holder.pid, heldAs)
    if (reading === undefined) {
      this.#degrade("what the supervisor before has kept could not be taken over")
      return []
    }
    const found = peekAll(reading)
    closeDescriptor(reading)
    return found
  }

  add(item: Queued): void {
    if (this.#queue === undefined || !this.#push(this.#queue, [item])) this.renew()
  }

  /** Soon, so that no start waits for it. */
  renew(delayMs = 0): void {
    this.#cancelRenewal ??= this.#options.timers.after(delayMs, () => {
      this.#cancelRenewal = undefined
      this.#replace()
    })
  }

  /** Nothing is to be kept. */
  rest(): void {
    this.#close()?.kill()
    this.#endOutdated()
  }

  /** What is in it stays there for the next supervisor. */
  leave(): void {
    this.#close()?.leave()
  }

  #close(): Holder | undefined {
    const holder = this.#holder
    this.#holder = undefined
    this.#cancelRenewal?.()
    this.#cancelRenewal = undefined
    this.#drop()
    return holder
  }

  #push(queue: Queue, items: readonly Queued[]): boolean {
    queue.pushed += items.length
    return queue.pushed - this.#options.kept().length <= overMax && push(queue, items)
  }

  /** HQ1 */
  #replace(): void {
    const queue = openQueue()
    try {
      if (queue === undefined) throw new Error("the kernel gives no socket")
      const next = { ...queue, pushed: 0 }
      if (!this.#push(next, this.#options.kept())) throw new Error("the kernel keeps no more descriptors")
      const holder = this.#hold(next)
      this.#drop()
      this.#queue = next
      this.#holder?.kill()
      this.#holder = holder
      this.#endOutdated()
      this.#recover()
    } catch (error) {
      if (queue !== undefined) closeQueue(queue)
      this.#degrade(error instanceof Error ? error.message : String(error))
      this.renew(holdAgainMs)
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
    if (this.#options.kept().length > 0) this.renew(holdAgainMs)
  }

  #drop(): void {
    if (this.#queue !== undefined) closeQueue(this.#queue)
    this.#queue = undefined
  }

  #endOutdated(): void {
    if (this.#outdated !== undefined && lives(this.#outdated)) killNow(this.#outdated.pid)
    this.#outdated = undefined
  }

  #degrade(problem: string): void {
    if (this.#health === "degraded") return
    this.#health = "degraded"
    const reason = `how processes end while no supervisor runs may not be known: ${problem}`
    this.#options.journal.record({ event: "care_degraded", aspect: "exit_recorder", reason })
  }

  #recover(): void {
    if (this.#health === "well") return
    this.#health = "well"
    this.#options.journal.record({ event: "care_restored", aspect: "exit_recorder" })
  }
}
