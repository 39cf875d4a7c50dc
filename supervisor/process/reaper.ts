/**
 * Collects the dead among those who became this process's children because their parents had died (below a Session
 * process everybody does, since this process asked the kernel for it). The runtime collects only what it started itself.
 *
 * RP1 the runtime's own children are left to it: who took their status would leave their exit unheard of
 */
import type { Timers } from "../ports.ts"
import { hasDeadChild, reap } from "./kernel.ts"
import { listPids, readStat } from "./procfs.ts"

export interface ReaperOptions {
  readonly timers: Timers
  /** Whether the runtime started it and has not told of its end. */
  readonly isOwn: (pid: number) => boolean
  readonly everyMs?: number
}

export interface Reaper {
  readonly close: () => void
}

/** The dead hold a pid each; a burst of thousands is gone well before pids run out. */
const everyDefaultMs = 500

const isOrphan = (pid: number, isOwn: ReaperOptions["isOwn"]): boolean => {
  const stat = readStat(pid)
  return stat !== undefined && stat.parent === process.pid && stat.state === "Z" && !isOwn(pid)
}

/** A look at the whole process table, for which there is a reason only when the kernel says that somebody died. */
const collect = ({ isOwn }: ReaperOptions): void => {
  if (!hasDeadChild()) return
  for (const pid of listPids()) if (isOrphan(pid, isOwn)) reap(pid)
}

export const startReaper = (options: ReaperOptions): Reaper => ({
  close: options.timers.every(options.everyMs ?? everyDefaultMs, () => collect(options)),
})
