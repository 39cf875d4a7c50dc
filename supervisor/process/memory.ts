/**
 * Want of memory: which kill was the kernel's, and whom it kills first. A process that was killed for want of memory
 * reports the same signal as one that a person killed; its control group counts such kills.
 *
 * ME1 a kill counts as one for want of memory only if the group counted one in the moments before it: a child of the
 *     process may have been killed so long ago
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { ExitReason } from "@computerd/protocol/link"
import type { Timers } from "../ports.ts"
import { outOfMemoryKills } from "./limits.ts"

export interface MemoryWatch {
  /** Ends the watch with the end of the process. */
  readonly explain: (reason: ExitReason) => ExitReason
}

const lookEveryMs = 1_000

/** `undefined`: the memory controller is off, or there is no group. */
const killsIn = (cgroup: string | undefined): number | undefined => {
  if (cgroup === undefined) return undefined
  try {
    return outOfMemoryKills(readFileSync(join(cgroup, "memory.events"), "utf8"))
  } catch {
    return undefined
  }
}

const isKill = (reason: ExitReason): boolean => reason.kind === "signal" && reason.signal === "SIGKILL"

const explain = (reason: ExitReason, cgroup: string | undefined, before: number): ExitReason =>
  isKill(reason) && (killsIn(cgroup) ?? 0) > before ? { kind: "out_of_memory" } : reason

/** Of a process that nobody watched. */
export const explainUnwatched = (reason: ExitReason, cgroup: string | undefined): ExitReason =>
  explain(reason, cgroup, 0)

/** ME1: the look before the last one is at least a period old, whenever the exit is heard of. */
export const watchMemory = (timers: Timers, cgroup: string | undefined): MemoryWatch => {
  let last = killsIn(cgroup)
  if (last === undefined) return { explain: (reason) => reason }
  let before = last
  const stop = timers.every(lookEveryMs, () => {
    before = last ?? before
    last = killsIn(cgroup)
  })
  return {
    explain: (reason) => {
      stop()
      return explain(reason, cgroup, before)
    },
  }
}

const scoreOf = (pid: number | "self"): string => `/proc/${pid}/oom_score_adj`
const scoreMax = 1000
/** Half of the scale. */
const aboveOwn = 500

/** The kernel is to take this process, and what it starts, before the supervisor. To raise a score is always allowed. */
export const offerFirst = (pid: number): void => {
  try {
    const own = Number(readFileSync(scoreOf("self"), "utf8"))
    writeFileSync(scoreOf(pid), String(Math.min(scoreMax, own + aboveOwn)))
  } catch {
    // It has ended already, or this kernel keeps no scores.
  }
}
