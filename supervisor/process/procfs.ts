/**
 * What the kernel says about processes. `undefined` means that it cannot be known: the process is gone, or `/proc`
 * is hidden from us.
 */
import { readdirSync, readFileSync } from "node:fs"
import { release } from "node:os"
import { isDead, type ProcessStamp, type ProcessStat, parseStat, sameProcess } from "./identity.ts"
import type { KernelFacts } from "./recordable.ts"

const read = (file: string): string | undefined => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return undefined
  }
}

export const readStat = (pid: number): ProcessStat | undefined => {
  const text = read(`/proc/${pid}/stat`)
  return text === undefined ? undefined : parseStat(text)
}

export const readEnviron = (pid: number): string | undefined => read(`/proc/${pid}/environ`)

let bootId: string | undefined

/** It cannot change while this process lives, and it is asked for with every look at another one. */
export const readBootId = (): string => {
  bootId ??= (read("/proc/sys/kernel/random/boot_id") ?? "unknown").trim()
  return bootId
}

export const readKernelFacts = (): KernelFacts => ({
  release: release(),
  ptraceScope: read("/proc/sys/kernel/yama/ptrace_scope"),
  status: read("/proc/self/status") ?? "",
})

export const stampOf = (pid: number, bootId: string): ProcessStamp | undefined => {
  const stat = readStat(pid)
  return stat === undefined ? undefined : { pid, startTime: stat.startTime, bootId }
}

/** The very process lives; a zombie does not. */
export const lives = (stamp: ProcessStamp): boolean => {
  const stat = readStat(stamp.pid)
  if (stat === undefined || isDead(stat)) return false
  return sameProcess(stamp, { pid: stat.pid, startTime: stat.startTime, bootId: readBootId() })
}

/** Stopped by a signal or a tracer. */
export const isSuspended = (pid: number): boolean => {
  const state = readStat(pid)?.state
  return state === "T" || state === "t"
}

export const listPids = (): readonly number[] => {
  try {
    return readdirSync("/proc")
      .map(Number)
      .filter((pid) => Number.isInteger(pid) && pid > 0)
  } catch {
    return []
  }
}
