/**
 * Keeps how Session processes end while no supervisor runs. A descriptor of each living one lies in a queue inside the
 * kernel, whose reading end a holder keeps open; through such a descriptor the kernel tells of the exit even when the
 * process has long been collected. One small holder serves the whole Computer, and no start waits for it.
 *
 * ER1 how a process ended comes from the kernel through the descriptor of that very process, or is not known
 * ER2 what is in the queue stays there until its exit is on record
 */
import type { ExitReason } from "@computerd/protocol/link"
import type { Cancel } from "../ports.ts"
import { HeldQueue, type HeldQueueOptions } from "./held-queue.ts"
import type { ProcessStamp } from "./identity.ts"
import { closeDescriptor } from "./libc.ts"
import { exitOf, openLiving } from "./pidfd.ts"
import type { Queued } from "./pidfd-queue.ts"
import { lives, readKernelFacts } from "./procfs.ts"
import { whyNotRecordable } from "./recordable.ts"

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

export interface RecorderOptions extends Omit<HeldQueueOptions, "kept"> {
  /** The holder of the supervisor before. */
  readonly previous: ProcessStamp | undefined
  /** Whether the process is on record as one that has not ended. */
  readonly isAwaited: (process: ProcessStamp) => boolean
  readonly idleMs?: number
}

/** A holder with nothing to keep stays so long for the next process. */
const idleDefaultMs = 10_000

type Kept = Map<string, Queued>

const keyOf = ({ pid, startTime }: Queued["process"]): string => `${pid} ${startTime}`

/** ER2 */
const inherit = (queue: HeldQueue, kept: Kept, { previous, bootId, isAwaited }: RecorderOptions): void => {
  if (previous === undefined || !lives(previous)) return
  for (const item of queue.inherit(previous)) {
    const key = keyOf(item.process)
    if (!kept.has(key) && isAwaited({ ...item.process, bootId })) kept.set(key, item)
    else closeDescriptor(item.pidfd)
  }
  if (kept.size > 0) queue.renew()
  else queue.rest()
}

const openRecorder = (options: RecorderOptions): ExitRecorder => {
  const { timers, idleMs = idleDefaultMs } = options
  const kept: Kept = new Map()
  const queue = new HeldQueue({ ...options, kept: () => [...kept.values()] })
  let cancelIdle: Cancel = () => undefined
  inherit(queue, kept, options)
  return {
    keep: (process) => {
      if (kept.has(keyOf(process))) return
      const pidfd = openLiving(process)
      if (pidfd === undefined) return
      cancelIdle()
      kept.set(keyOf(process), { process, pidfd })
      queue.add({ process, pidfd })
    },
    forget: (process) => {
      const item = kept.get(keyOf(process))
      if (item === undefined) return
      kept.delete(keyOf(process))
      closeDescriptor(item.pidfd)
      cancelIdle()
      if (kept.size === 0) cancelIdle = timers.after(idleMs, () => queue.rest())
    },
    exitOf: (process) => {
      const item = kept.get(keyOf(process))
      return item && exitOf(item.pidfd)
    },
    started: () => queue.started,
    needs: (pid) => queue.needs(pid),
    close: () => {
      cancelIdle()
      if (kept.size === 0) queue.rest()
      else queue.leave()
      for (const { pidfd } of kept.values()) closeDescriptor(pidfd)
      kept.clear()
    },
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
  const problem = whyNotRecordable(readKernelFacts())
  if (problem === undefined) return openRecorder(options)
  const reason = `how processes end while no supervisor runs cannot be known: ${problem}`
  options.journal.record({ event: "care_degraded", aspect: "exit_recorder", reason })
  return nothingKept
}
