/**
 * Watches a process that another supervisor started. It is nobody's child here, so its end is seen by looking: now and
 * then, and whenever its channel closes.
 *
 * WA1 how it ended comes from the kernel or is `unknown`
 */
import type { ExitReason } from "@computerd/protocol/link"
import type { Cancel, Timers } from "../ports.ts"
import { isDead, type ProcessStamp } from "./identity.ts"
import { closeDescriptor } from "./libc.ts"
import { watchMemory } from "./memory.ts"
import { decodeStatus, exitOf, openLiving, type Pidfd } from "./pidfd.ts"
import { lives, readStat } from "./procfs.ts"

export interface Watch {
  readonly exited: Promise<ExitReason>
  /** It may have ended just now. */
  readonly look: () => void
}

export interface WatchOptions {
  readonly timers: Timers
  readonly stamp: ProcessStamp
  readonly cgroup: string | undefined
  /** How it ended, where somebody has kept that. */
  readonly recorded?: (stamp: ProcessStamp) => ExitReason | undefined
  readonly everyMs?: number
}

const everyDefaultMs = 1000
/** After a hint: a process closes its sockets before it is dead. */
const hintedLooksMs: readonly number[] = [0, 2, 10, 50, 200]
/** For whoever its parent is to collect it: only then does the kernel tell its status. */
const collectLooks = 40
const collectPauseMs = 5

const pause = (timers: Timers, ms: number): Promise<void> =>
  new Promise((resolve) => {
    timers.after(ms, resolve)
  })

/** Of a process that is dead and not collected: a parent that is slow, or one that never looks. */
export const statusOfDead = (stamp: ProcessStamp): ExitReason | undefined => {
  const stat = readStat(stamp.pid)
  const isIt = stat !== undefined && isDead(stat) && stat.startTime === stamp.startTime
  return isIt && Number.isInteger(stat.exitStatus) ? decodeStatus(stat.exitStatus) : undefined
}

const statusOf = async (options: WatchOptions, pidfd: Pidfd | undefined): Promise<ExitReason> => {
  const { timers, stamp, recorded } = options
  for (let look = 0; look < collectLooks; look += 1) {
    const told = pidfd === undefined ? undefined : exitOf(pidfd)
    const reason = told ?? recorded?.(stamp) ?? statusOfDead(stamp)
    if (reason !== undefined) return reason
    await pause(timers, collectPauseMs)
  }
  return { kind: "unknown", message: "it ended, and the kernel does not tell this supervisor how" }
}

export const watchProcess = (options: WatchOptions): Watch => {
  const { timers, stamp, cgroup, everyMs } = options
  const pidfd = openLiving(stamp)
  const memory = watchMemory(timers, cgroup)
  const { promise: gone, resolve } = Promise.withResolvers<void>()
  const cancels = new Set<Cancel>()
  const look = (): void => {
    if (!lives(stamp)) resolve()
  }
  const stopLooking = timers.every(everyMs ?? everyDefaultMs, look)

  const lookIn = (ms: number): void => {
    const cancel = timers.after(ms, () => {
      cancels.delete(cancel)
      look()
    })
    cancels.add(cancel)
  }

  const end = async (): Promise<ExitReason> => {
    await gone
    stopLooking()
    for (const cancel of cancels) cancel()
    const reason = await statusOf(options, pidfd)
    if (pidfd !== undefined) closeDescriptor(pidfd)
    return memory.explain(reason)
  }

  return {
    exited: end(),
    look: () => {
      for (const ms of hintedLooksMs) lookIn(ms)
    },
  }
}
