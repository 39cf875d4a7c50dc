/**
 * The clock that goes on while the machine is suspended, from the kernel. All processes of one boot read the same time
 * from it. Without a C library that has it: the machine's uptime at the start, and from then on a clock that may stand
 * still in a suspension.
 */
import { dlopen, FFIType, ptr } from "bun:ffi"
import { readFileSync } from "node:fs"

const boottimeClock = 7
const librariesTried: readonly string[] = [
  "libc.so.6",
  `libc.musl-${process.arch === "x64" ? "x86_64" : "aarch64"}.so.1`,
]

const open = (name: string) =>
  dlopen(name, { clock_gettime: { args: [FFIType.i32, FFIType.pointer], returns: FFIType.i32 } })

/** Milliseconds since the machine was started; `undefined` where the clock cannot be read. */
const kernelClock = (): (() => number) | undefined => {
  for (const name of librariesTried) {
    try {
      const { clock_gettime } = open(name).symbols
      const seconds = new BigInt64Array(2)
      const address = ptr(seconds)
      const read = (): number => {
        clock_gettime(boottimeClock, address)
        return Number(seconds[0]) * 1000 + Number(seconds[1]) / 1e6
      }
      if (read() > 0) return read
    } catch {
      // Another C library, or none that can be loaded.
    }
  }
  return undefined
}

const uptimeMs = (): number => {
  try {
    return Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 1000
  } catch {
    return 0
  }
}

/** `monotonicMs` counts from any start. */
export const boottime = (monotonicMs: () => number): (() => number) => {
  const kernel = kernelClock()
  if (kernel !== undefined) return kernel
  const startMs = uptimeMs() - monotonicMs()
  return () => startMs + monotonicMs()
}
