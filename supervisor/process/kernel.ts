/**
 * System calls that the runtime has no word for. Each answers `undefined` where the kernel or the C library does not
 * have it, which is always an answer that callers can live with.
 *
 * KE1 a process is waited for by its pid only: waiting for any would take the runtime's own children from it
 */
import { dlopen, FFIType, ptr } from "bun:ffi"
import { constants } from "node:os"
import type { ExitReason } from "@computerd/protocol/link"

const { i32, i64, u64, pointer } = FFIType

const symbols = {
  syscall: { args: [i64, i64, i64, i64], returns: i64 },
  ioctl: { args: [i32, u64, pointer], returns: i32 },
  prctl: { args: [i32, u64, u64, u64, u64], returns: i32 },
  waitid: { args: [i32, i32, pointer, i32], returns: i32 },
  waitpid: { args: [i32, pointer, i32], returns: i32 },
  close: { args: [i32], returns: i32 },
} as const

const open = (name: string) => dlopen(name, symbols).symbols
type Library = ReturnType<typeof open>

const names: readonly string[] = [
  "libc.so.6",
  `libc.musl-${process.arch === "x64" ? "x86_64" : "aarch64"}.so.1`,
]

const load = (): Library | undefined => {
  for (const name of names) {
    try {
      return open(name)
    } catch {
      // Another C library, or none that can be loaded.
    }
  }
  return undefined
}

let loaded: { readonly library: Library | undefined } | undefined
const library = (): Library | undefined => {
  loaded ??= { library: load() }
  return loaded.library
}

/** The same on every architecture that Bun runs on. */
const pidfdOpen = 434
const pidfdGetfd = 438
const setChildSubreaper = 36
const noHang = 1

/** Orphans below this process become its children, for `reap`, instead of those of the first process. */
export const becomeSubreaper = (): boolean => library()?.prctl(setChildSubreaper, 1n, 0n, 0n, 0n) === 0

const anyChild = 0
/** `WNOHANG | WEXITED | WNOWAIT`: to look without taking. */
const onlyLook = 1 | 4 | 0x01000000
const signalInfoBytes = 128
const signalInfoPid = 16

/** Whether a child is dead and not collected, whoever is to collect it. */
export const hasDeadChild = (): boolean => {
  const info = new DataView(new ArrayBuffer(signalInfoBytes))
  const found = library()?.waitid(anyChild, 0, ptr(info), onlyLook) === 0
  return found && info.getInt32(signalInfoPid, true) !== 0
}

/** Takes the status of this dead child, so that its entry in the process table goes. */
export const reap = (pid: number): boolean => {
  const status = new Int32Array(1)
  return library()?.waitpid(pid, ptr(status), noHang) === pid
}

export type Pidfd = number

/** A descriptor that names this very process for as long as it is open. */
export const openPidfd = (pid: number): Pidfd | undefined => {
  const fd = Number(library()?.syscall(pidfdOpen, pid, 0, 0) ?? -1)
  return fd < 0 ? undefined : fd
}

/** A copy of what another process holds as `fd`. */
export const takePidfd = (holder: number, fd: number): Pidfd | undefined => {
  const pidfd = openPidfd(holder)
  if (pidfd === undefined) return undefined
  const taken = Number(library()?.syscall(pidfdGetfd, pidfd, fd, 0) ?? -1)
  closeDescriptor(pidfd)
  return taken < 0 ? undefined : taken
}

export const closeDescriptor = (fd: Pidfd): void => {
  library()?.close(fd)
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

/**
 * How the process ended, whoever its parent was. Nothing while it lives or has not been collected, and on kernels
 * before 6.15.
 */
export const exitOf = (pidfd: Pidfd): ExitReason | undefined => {
  const info = new DataView(new ArrayBuffer(infoBytes))
  info.setBigUint64(0, exitWanted, true)
  const done = library()?.ioctl(pidfd, getInfo, ptr(info)) === 0
  const told = (info.getBigUint64(0, true) & exitWanted) !== 0n
  return done && told ? decodeStatus(info.getInt32(exitOffset, true)) : undefined
}
