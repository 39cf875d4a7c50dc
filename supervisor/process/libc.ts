/**
 * The C library, for system calls that the runtime has no word for. `undefined` where there is none that can be loaded,
 * which is always an answer that callers can live with.
 */
import { dlopen, FFIType } from "bun:ffi"

const { i32, i64, u64, pointer } = FFIType

const symbols = {
  syscall: { args: [i64, i64, i64, i64], returns: i64 },
  ioctl: { args: [i32, u64, pointer], returns: i32 },
  prctl: { args: [i32, u64, u64, u64, u64], returns: i32 },
  waitid: { args: [i32, i32, pointer, i32], returns: i32 },
  waitpid: { args: [i32, pointer, i32], returns: i32 },
  socketpair: { args: [i32, i32, i32, pointer], returns: i32 },
  setsockopt: { args: [i32, i32, i32, pointer, i32], returns: i32 },
  sendmsg: { args: [i32, pointer, i32], returns: i64 },
  recvmsg: { args: [i32, pointer, i32], returns: i64 },
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

export const libc = (): Library | undefined => {
  loaded ??= { library: load() }
  return loaded.library
}

export const closeDescriptor = (fd: number): void => {
  libc()?.close(fd)
}
