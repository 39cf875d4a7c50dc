/**
 * What this process asks of the kernel for those whose parents have died.
 *
 * KE1 a process is waited for by its pid only: waiting for any would take the runtime's own children from it
 */
import { ptr } from "bun:ffi"
import { libc } from "./libc.ts"

const setChildSubreaper = 36

/** Orphans below this process become its children, for `reap`, instead of those of the first process. */
export const becomeSubreaper = (): boolean => libc()?.prctl(setChildSubreaper, 1n, 0n, 0n, 0n) === 0

const anyChild = 0
/** `WNOHANG | WEXITED | WNOWAIT`: to look without taking. */
const onlyLook = 1 | 4 | 0x01000000
const noHang = 1
const signalInfoBytes = 128
const signalInfoPid = 16

/** Whether a child is dead and not collected, whoever is to collect it. */
export const hasDeadChild = (): boolean => {
  const info = new DataView(new ArrayBuffer(signalInfoBytes))
  const found = libc()?.waitid(anyChild, 0, ptr(info), onlyLook) === 0
  return found && info.getInt32(signalInfoPid, true) !== 0
}

/** Takes the status of this dead child, so that its entry in the process table goes. */
export const reap = (pid: number): boolean => {
  const status = new Int32Array(1)
  return libc()?.waitpid(pid, ptr(status), noHang) === pid
}
