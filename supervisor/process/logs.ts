/**
 * Output of Session processes. The process itself holds the file, opened for appending, so that its output needs no
 * living supervisor, never blocks on one, and survives it. The price is that the size is checked from outside: once
 * a second a file above its limit is cut, its last part moving to `<name>.1`. A file may exceed the limit by what a
 * process writes in that second, and what it writes between the copy and the cut is lost; both are bounded.
 */
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import type { SessionId } from "@computerd/protocol/ids"
import type { Journal } from "../journal.ts"
import type { Ports } from "../ports.ts"
import type { ProcessIdentity } from "./identity.ts"

export type OutputStream = "stdout" | "stderr"
export const outputStreams: readonly OutputStream[] = ["stdout", "stderr"]

/** One file; with its predecessor a stream takes at most twice this. */
const outputMaxBytes = 8 * 1024 * 1024
const checkEveryMs = 1000
/** Folders of Sessions that are gone, kept for whoever looks into their end. */
const retainedFolders = 100

export interface OutputFiles {
  readonly stdout: number
  readonly stderr: number
  /** The child has its own copies: ours are closed once it runs. */
  readonly close: () => void
}

export interface Logs {
  readonly folder: (sessionId: SessionId) => string
  readonly open: (process: ProcessIdentity) => OutputFiles
  /** The files are held by a process that an earlier supervisor started; only their size is looked after. */
  readonly adopt: (process: ProcessIdentity) => void
  readonly ended: (process: ProcessIdentity) => void
  /** Removes the oldest folders of Sessions that are gone, beyond those that are retained. */
  readonly prune: () => void
  readonly close: () => void
}

export interface LogsOptions {
  readonly directory: string
  readonly ports: Ports
  readonly journal: Journal
  /** Whether the Session of a folder is still known; its folder is never removed. */
  readonly keeps: (folder: string) => boolean
  readonly maxBytes?: number
  readonly checkEveryMs?: number
}

/** Moves the last part to the predecessor and empties the file; answers with the bytes that are lost. */
const cut = (file: string, maxBytes: number): number => {
  const fd = openSync(file, "r+")
  try {
    const size = fstatSync(fd).size
    const kept = Buffer.alloc(Math.min(size, maxBytes))
    const read = readSync(fd, kept, 0, kept.length, size - kept.length)
    writeFileSync(`${file}.1`, kept.subarray(0, read), { mode: 0o600 })
    ftruncateSync(fd, 0)
    return size - read
  } finally {
    closeSync(fd)
  }
}

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const changedMs = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

const pruneFolders = (directory: string, keeps: (folder: string) => boolean): void => {
  const gone = readdirSync(directory)
    .filter((name) => !keeps(name))
    .map((name) => join(directory, name))
  if (gone.length <= retainedFolders) return
  const oldestFirst = gone.map((path) => ({ path, at: changedMs(path) })).sort((one, two) => one.at - two.at)
  for (const { path } of oldestFirst.slice(0, gone.length - retainedFolders))
    rmSync(path, { recursive: true, force: true })
}

export const createLogs = (options: LogsOptions): Logs => {
  const { directory, ports, journal, maxBytes = outputMaxBytes } = options
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  pruneFolders(directory, options.keeps)
  const living = new Map<SessionId, ProcessIdentity>()
  const folder = (sessionId: SessionId): string => join(directory, sessionId)

  const check = (process: ProcessIdentity): void => {
    for (const stream of outputStreams) {
      const file = join(folder(process.sessionId), `${stream}.log`)
      try {
        if (sizeOf(file) <= maxBytes) continue
        const bytes = cut(file, maxBytes)
        journal.record({ event: "output_truncated", ...process, stream, bytes })
      } catch (error) {
        journal.record({ event: "output_unwritable", ...process, message: messageOf(error) })
      }
    }
  }
  const stopChecks = ports.timers.every(options.checkEveryMs ?? checkEveryMs, () => {
    for (const process of living.values()) check(process)
  })

  return {
    folder,
    open: (process) => {
      mkdirSync(folder(process.sessionId), { recursive: true, mode: 0o700 })
      const [stdout, stderr] = [
        openSync(join(folder(process.sessionId), "stdout.log"), "a", 0o600),
        openSync(join(folder(process.sessionId), "stderr.log"), "a", 0o600),
      ]
      living.set(process.sessionId, process)
      return {
        stdout,
        stderr,
        close: () => {
          closeSync(stdout)
          closeSync(stderr)
        },
      }
    },
    adopt: (process) => {
      living.set(process.sessionId, process)
    },
    ended: (process) => {
      check(process)
      if (living.get(process.sessionId)?.generation === process.generation) living.delete(process.sessionId)
    },
    prune: () => pruneFolders(directory, options.keeps),
    close: stopChecks,
  }
}
