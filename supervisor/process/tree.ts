/**
 * Ends whole process trees and proves it. With a control group: `cgroup.kill`, then `populated 0`. Without: the
 * process group, and whatever else carries the Session's marker in its environment or descends from its kernel session,
 * again and again until a pass over `/proc` finds nothing. Spawns nothing and allocates little.
 *
 * PT1 nobody is told that a tree is gone before a look at the kernel has found it empty
 */
import type { Ports } from "../ports.ts"
import { isPopulated, killGroup, membersOf, removeGroup } from "./cgroup.ts"
import { hasMarker, isDead, type ProcessStamp } from "./identity.ts"
import { listPids, lives, readBootId, readEnviron, readStat } from "./procfs.ts"

export interface Tree {
  /** The process at its root: leader of its own session and group. Unset: it is not known whether it ever ran. */
  readonly root: ProcessStamp | undefined
  /** `NAME=value` that every descendant inherits. */
  readonly marker: string
  readonly cgroup: string | undefined
}

/** Between two looks; killing takes a few milliseconds. */
const firstLookMs = 2
const slowestLookMs = 50

/** The kernel keeps the root's pid from reuse while its group has members; a reused one leads a group of strangers. */
export const leadsOwnGroup = (root: ProcessStamp): boolean => {
  if (root.bootId !== readBootId()) return false
  const leader = readStat(root.pid)
  return leader === undefined || leader.startTime === root.startTime
}

const belongs = (tree: Tree, pid: number): boolean => {
  if (pid === process.pid) return false
  const stat = readStat(pid)
  if (stat === undefined || isDead(stat)) return false
  const { root } = tree
  const inGroup = root !== undefined && (stat.group === root.pid || stat.session === root.pid)
  if (inGroup && leadsOwnGroup(root)) return true
  return hasMarker(readEnviron(pid) ?? "", tree.marker)
}

export const membersOfTree = (tree: Tree): readonly number[] =>
  tree.cgroup !== undefined && isPopulated(tree.cgroup) !== undefined
    ? membersOf(tree.cgroup)
    : listPids().filter((pid) => belongs(tree, pid))

/** Whether it is there or not. */
export const killNow = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // Gone between the look and the kill.
  }
}

/** One blow; answers with what was there. */
const strike = (tree: Tree): readonly number[] => {
  if (tree.cgroup !== undefined) {
    const populated = isPopulated(tree.cgroup)
    if (populated === true) {
      killGroup(tree.cgroup)
      const members = membersOf(tree.cgroup)
      // Those of groups made below ours are not listed here, but they count.
      return members.length > 0 ? members : [tree.root?.pid ?? 0]
    }
    if (populated === false) return []
  }
  const found = listPids().filter((pid) => belongs(tree, pid))
  if (tree.root !== undefined && lives(tree.root)) killNow(-tree.root.pid)
  for (const pid of found) killNow(pid)
  return found
}

export interface TreeEnd {
  /** Distinct pids that were found; none when everything had ended by itself. */
  readonly killed: number
  /** Empty: the tree is proven gone. */
  readonly survivors: readonly number[]
}

/** Kills until nothing is left or the limit is reached. */
export const killTree = async (ports: Ports, tree: Tree, limitMs: number): Promise<TreeEnd> => {
  const end = ports.clock.monotonicMs() + limitMs
  const found = new Set<number>()
  let pauseMs = firstLookMs
  let left = strike(tree)
  while (left.length > 0 && ports.clock.monotonicMs() < end) {
    for (const pid of left) found.add(pid)
    await new Promise<void>((resolve) => {
      ports.timers.after(pauseMs, resolve)
    })
    pauseMs = Math.min(pauseMs * 2, slowestLookMs)
    left = strike(tree)
  }
  if (left.length === 0 && tree.cgroup !== undefined) removeGroup(tree.cgroup)
  return { killed: found.size, survivors: left }
}
