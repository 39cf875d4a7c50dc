/**
 * Descriptors that name a process and not a number: they stay with it beyond its end, and the kernel tells through them
 * how it ended, whoever its parent was (Linux 6.15 and later).
 */
import { ptr } from "bun:ffi"
import { constants } from "node:os"
import type { ExitReason } from "@computerd/protocol/link"
import type { ProcessStamp } from "./identity.ts"
import { closeDescriptor, libc } from "./libc.ts"
import { lives } from "./procfs.ts"

/** The same on every architecture that Bun runs on. */
const pidfdOpen = 434
const pidfdGetfd = 438

export type Pidfd = number

/** A descriptor that names this very process for as long as it is open. */
const openPidfd = (pid: number): Pidfd | undefined => {
  const fd = Number(libc()?.syscall(pidfdOpen, pid, 0, 0) ?? -1)
  return fd < 0 ? undefined : fd
}

/** Of this very process: its pid cannot have been reused if it still lives once the descriptor is open. */
export const openLiving = (stamp: ProcessStamp): Pidfd | undefined => {
  const pidfd = openPidfd(stamp.pid)
  if (pidfd === undefined || lives(stamp)) return pidfd
  closeDescriptor(pidfd)
  return undefined
}

/** A copy of what another process holds as `fd`. */
export const takeDescriptor = (holder: number, fd: number): number | undefined => {
  const pidfd = openPidfd(holder)
  if (pidfd === undefined) return undefined
  const taken = Number(libc()?.syscall(pidfdGetfd, pidfd, fd, 0) ?? -1)
  closeDescriptor(pidfd)
  return taken < 0 ? undefined : taken
}

/** `struct pidfd_info` as the first kernel that tells of exits has it. */
const infoBytes = 64
const exitWanted = 8n
const exitOffset = 60
const getInfo = (3n << 30n) | (BigInt(infoBytes) << 16n) | (0xffn << 8n) | 11n

const signalNames: ReadonlyMap<number, string> = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name]),
)

/** The reason in a status as `wait` gives it. */
export const decodeStatus = (status: number): ExitReason => {
  const signal = status & 0x7f
  if (signal === 0) return { kind: "code", code: (status >> 8) & 0xff }
  return { kind: "signal", signal: signalNames.get(signal) ?? `signal ${signal}` }
}

/** Nothing while it lives or has not been collected, and on kernels before 6.15. */
export const exitOf = (pidfd: Pidfd): ExitReason | undefined => {
  const info = new DataView(new ArrayBuffer(infoBytes))
  info.setBigUint64(0, exitWanted, true)
  const done = libc()?.ioctl(pidfd, getInfo, ptr(info)) === 0
  const told = (info.getBigUint64(0, true) & exitWanted) !== 0n
  return done && told ? decodeStatus(info.getInt32(exitOffset, true)) : undefined
}
