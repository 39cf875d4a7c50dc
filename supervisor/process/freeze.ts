/**
 * Stops whole process trees and lets them go on. With a control group its freezer does it, and says when nothing in it
 * runs any more. Without: SIGSTOP to every member, again and again until a pass finds none that runs, since a process
 * may fork while others are being stopped.
 *
 * FZ1 a tree counts as frozen only when a look at the kernel has found nothing of it that runs
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { isDead } from "./identity.ts"
import { listPids, readEnviron, readStat } from "./procfs.ts"
import { leadsOwnGroup, type Tree } from "./tree.ts"

const setFreezer = (group: string, state: "0" | "1"): boolean => {
  try {
    writeFileSync(join(group, "cgroup.freeze"), state, { flag: "r+" })
    return true
  } catch {
    return false
  }
}

const eventsOf = (group: string): string | undefined => {
  try {
    return readFileSync(join(group, "cgroup.events"), "utf8")
  } catch {
    return undefined
  }
}

/** By us, or by whoever froze a group above it. */
export const isGroupFrozen = (group: string): boolean => /^frozen 1$/m.test(eventsOf(group) ?? "")

const isGroupEmpty = (group: string): boolean => !/^populated 1$/m.test(eventsOf(group) ?? "")

/** Bit of SIGSTOP in the kernel's masks. */
const stopBit = 1n << 18n

/** A process that waits for its own fork to start another program stops when that has; with the stop pending it does. */
const hasPendingStop = (pid: number): boolean => {
  try {
    const mask = /^ShdPnd:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
    return mask !== undefined && (BigInt(`0x${mask}`) & stopBit) !== 0n
  } catch {
    return false
  }
}

const runs = (pid: number): boolean => {
  const stat = readStat(pid)
  if (stat === undefined || isDead(stat) || stat.state === "T" || stat.state === "t") return false
  return stat.state !== "D" || !hasPendingStop(pid)
}

const signal = (pid: number, name: "SIGSTOP" | "SIGCONT"): void => {
  try {
    process.kill(pid, name)
  } catch {
    // Gone between the look and the signal.
  }
}

/** The members of all these trees, in one look at the process table. */
const membersOf = (trees: readonly Tree[]): readonly number[] => {
  const leaders = new Set<number>()
  for (const { root } of trees) if (root !== undefined && leadsOwnGroup(root)) leaders.add(root.pid)
  const markers = new Set(trees.map(({ marker }) => marker))
  const belongs = (pid: number): boolean => {
    const stat = pid === process.pid ? undefined : readStat(pid)
    if (stat === undefined || isDead(stat)) return false
    if (leaders.has(stat.group) || leaders.has(stat.session)) return true
    return (readEnviron(pid) ?? "").split("\0").some((entry) => markers.has(entry))
  }
  return trees.length === 0 ? [] : listPids().filter(belongs)
}

/** Those whom no control group freezes. */
const ungrouped = (trees: readonly Tree[], state: "0" | "1"): readonly Tree[] =>
  trees.filter(({ cgroup }) => cgroup === undefined || !setFreezer(cgroup, state))

const isStill = ({ cgroup }: Tree): boolean =>
  cgroup === undefined || isGroupFrozen(cgroup) || isGroupEmpty(cgroup)

/** One pass. True when it found everything frozen (FZ1). */
export const freezeTrees = (trees: readonly Tree[]): boolean => {
  const signalled = ungrouped(trees, "1")
  const running = membersOf(signalled).filter(runs)
  for (const pid of running) signal(pid, "SIGSTOP")
  return running.length === 0 && trees.every((tree) => signalled.includes(tree) || isStill(tree))
}

/** What somebody else froze as a group above a tree stays frozen. */
export const thawTrees = (trees: readonly Tree[]): void => {
  for (const pid of membersOf(ungrouped(trees, "0"))) if (readStat(pid)?.state === "T") signal(pid, "SIGCONT")
}
