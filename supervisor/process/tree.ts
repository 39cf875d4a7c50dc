/**
 * Ends whole process trees and proves it. With a control group: `cgroup.kill`, then `populated 0`. Without: the
 * process group, and whatever else carries the Session's marker in its environment or descends from its kernel session,
 * again and again until a pass over `/proc` finds nothing. Spawns nothing and allocates little.
 *
 * PT1 nobody is told that a tree is gone before a look at the kernel has found it empty
 * PT2 without a control group, whoever left session, group and environment behind belongs while its line of parents
 *     leads to a member; once its parent is dead it is an orphan, which ends with its supervisor at the latest
 */
import type { Ports } from "../ports.ts"
import { isPopulated, killGroup, membersOf, removeGroup } from "./cgroup.ts"
import { hasMarker, isDead, type ProcessStamp, type ProcessStat } from "./identity.ts"
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

const isMember = ({ root, marker }: Tree, { pid, group, session }: ProcessStat): boolean => {
  const inGroup = root !== undefined && (group === root.pid || session === root.pid)
  if (inGroup && leadsOwnGroup(root)) return true
  return hasMarker(readEnviron(pid) ?? "", marker)
}

const living = (): readonly ProcessStat[] =>
  listPids()
    .flatMap((pid) => (pid === process.pid ? [] : (readStat(pid) ?? [])))
    .filter((stat) => !isDead(stat))

/** PT2 */
const findMembers = (tree: Tree): readonly number[] => {
  const all = living()
  const members = new Set(all.filter((stat) => isMember(tree, stat)).map(({ pid }) => pid))
  for (let before = -1; before !== members.size; ) {
    before = members.size
    for (const { pid, parent } of all) if (members.has(parent)) members.add(pid)
  }
  return [...members]
}

export const membersOfTree = (tree: Tree): readonly number[] =>
  tree.cgroup !== undefined && isPopulated(tree.cgroup) !== undefined
    ? membersOf(tree.cgroup)
    : findMembers(tree)

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
  const found = findMembers(tree)
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
