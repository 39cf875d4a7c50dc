/**
 * Space on the disk that is kept for bad days: a file beside the store that is given up when the disk is full, so that
 * ends, acknowledgements and reasons can still be written. It is taken back when there is room again.
 *
 * BA1 while it is given up nothing new is begun: the space is for what ends
 */
import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from "node:fs"
import type { Journal } from "../journal.ts"
import type { Cancel, Timers } from "../ports.ts"

/** Room for thousands of ends, beside what a checkpoint of the write-ahead log needs. */
export const ballastBytes = 4 * 1024 * 1024
const lookAgainMs = 5_000
const block = new Uint8Array(65_536)

export interface Ballast {
  /** BA1 */
  readonly isKept: () => boolean
  /** Looks at the disk itself, since not every failure for want of room says so. */
  readonly isDiskFull: () => boolean
  /** The disk is full. */
  readonly giveUp: () => void
  readonly close: () => void
}

export interface BallastDeps {
  readonly file: string
  /** Holds the file. */
  readonly directory: string
  readonly bytes: number
  readonly timers: Timers
  readonly journal: Journal
}

/** For stores without a disk. */
export const noBallast: Ballast = {
  isKept: () => true,
  isDiskFull: () => false,
  giveUp: () => undefined,
  close: () => undefined,
}

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

const freeBytes = (directory: string): number => {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}

/** Blocks are written, since a file of the right length alone takes no space. */
const write = (file: string, bytes: number): void => {
  const descriptor = openSync(file, "w", 0o600)
  try {
    for (let written = 0; written < bytes; )
      written += writeSync(descriptor, block, 0, Math.min(block.length, bytes - written))
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

export const createBallast = ({ file, directory, bytes, timers, journal }: BallastDeps): Ballast => {
  let state: "kept" | "given_up" | "closed" = "given_up"
  let cancel: Cancel = () => undefined

  /** Only with as much again left over: else the next write would give it up at once. */
  const take = (): boolean => {
    try {
      if (sizeOf(file) === bytes) return true
      if (freeBytes(directory) < 2 * bytes) return false
      write(file, bytes)
      return true
    } catch {
      rmSync(file, { force: true })
      return false
    }
  }

  const lookAgain = (): void => {
    cancel = timers.after(lookAgainMs, () => {
      if (!take()) return lookAgain()
      state = "kept"
      journal.record({ event: "disk_recovered", directory })
    })
  }

  const giveUp = (): void => {
    if (state !== "kept") return
    state = "given_up"
    rmSync(file, { force: true })
    journal.record({ event: "disk_full", directory, freedBytes: bytes })
    lookAgain()
  }

  if (take()) state = "kept"
  else {
    rmSync(file, { force: true })
    journal.record({ event: "disk_full", directory, freedBytes: 0 })
    lookAgain()
  }

  return {
    isKept: () => state === "kept",
    isDiskFull: () => freeBytes(directory) < block.length,
    giveUp,
    close: () => {
      state = "closed"
      cancel()
    },
  }
}
