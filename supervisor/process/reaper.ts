/**
 * Collects the dead among those who became this process's children because their parents had died (below a Session
 * process everybody does, since this process asked the kernel for it). The runtime collects only what it started itself.
 *
 * RP1 the runtime's own children are left to it: who took their status would leave their exit unheard of
 */
import type { Timers } from "../ports.ts"
import type { ProcessStat } from "./identity.ts"
import { hasDeadChild, reap } from "./kernel.ts"
import { listPids, readStat } from "./procfs.ts"
import { killNow } from "./tree.ts"

export interface ReaperOptions {
  readonly timers: Timers
  /** Whether the runtime started it and has not told of its end. */
  readonly isOwn: (pid: number) => boolean
  readonly everyMs?: number
}

export interface Reaper {
  /**
   * Kills every orphan, once no Session process is left that could want one; answers with those that live on. Without
   * control groups these are the ones that hid from the end of their Session.
   */
  readonly endOrphans: (limitMs: number) => Promise<readonly number[]>
  readonly close: () => void
}

/** The dead hold a pid each; a burst of thousands is gone well before pids run out. */
const everyDefaultMs = 500

const orphans = ({ isOwn }: ReaperOptions): readonly ProcessStat[] =>
  listPids()
    .flatMap((pid) => readStat(pid) ?? [])
    .filter(({ pid, parent }) => parent === process.pid && !isOwn(pid))

const collectFrom = (found: readonly ProcessStat[]): void => {
  for (const { pid, state } of found) if (state === "Z") reap(pid)
}

/** A look at the whole process table, for which there is a reason only when the kernel says that somebody died. */
const collect = (options: ReaperOptions): void => {
  if (hasDeadChild()) collectFrom(orphans(options))
}

const endPauseMs = 5

const endOrphans = async (options: ReaperOptions, limitMs: number): Promise<readonly number[]> => {
  const looksMax = Math.ceil(limitMs / endPauseMs)
  let left = orphans(options)
  for (let look = 0; left.length > 0 && look < looksMax; look += 1) {
    for (const { pid } of left) killNow(pid)
    await new Promise<void>((resolve) => {
      options.timers.after(endPauseMs, resolve)
    })
    collectFrom(orphans(options))
    left = orphans(options)
  }
  return left.map(({ pid }) => pid)
}

export const startReaper = (options: ReaperOptions): Reaper => ({
  endOrphans: (limitMs) => endOrphans(options, limitMs),
  close: options.timers.every(options.everyMs ?? everyDefaultMs, () => collect(options)),
})
