/**
 * Shows what Session processes write to their standard streams: their files are looked at while they grow. A file that
 * grows faster than it is shown is skipped to its end, and a line says so.
 */
import { closeSync, openSync, readSync, statSync } from "node:fs"
import { join } from "node:path"
import { StringDecoder } from "node:string_decoder"
import { computerDirectory } from "@computerd/control-plane/drivers/local/directory"
import type { Ports } from "../../ports.ts"
import { createPieces } from "../../view/pieces.ts"
import type { View } from "../../view/view.ts"
import type { Fleet, SessionView } from "../view/fleet.ts"

const lookEveryMs = 250
const lookMaxBytes = 64 * 1024
const streams = ["stdout", "stderr"] as const

/** Where the streams of a Session's processes lie. */
export const consoleFolder = (stateDirectory: string, { computerId, id }: SessionView): string =>
  join(computerDirectory(stateDirectory, computerId).state, "logs", id)

/** The same for every Session, as a pattern for people. */
export const consoleFolders = (stateDirectory: string): string =>
  join(computerDirectory(stateDirectory, "*").state, "logs")

interface Tail {
  /** The complete lines since the last look. */
  readonly look: () => readonly string[]
  readonly rest: () => readonly string[]
}

const readAt = (file: string, from: number, length: number): Buffer => {
  const fd = openSync(file, "r")
  try {
    const buffer = Buffer.alloc(length)
    return buffer.subarray(0, readSync(fd, buffer, 0, length, from))
  } finally {
    closeSync(fd)
  }
}

/** `from` the end: what an earlier run wrote is not shown again. */
const createTail = (file: string, from: "start" | "end"): Tail => {
  const size = (): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0
  let at = from === "end" ? size() : 0
  const pieces = createPieces()
  const decoder = new StringDecoder("utf8")
  return {
    look: () => {
      const end = size()
      // It was cut, as every file that grows too large is.
      if (end < at) at = 0
      const skipped = Math.max(0, end - at - lookMaxBytes)
      at += skipped
      if (end === at) return []
      const bytes = readAt(file, at, end - at)
      at += bytes.length
      const said = skipped === 0 ? [] : [`… ${skipped} bytes not shown`]
      return [...said, ...pieces.add(decoder.write(bytes))]
    },
    rest: pieces.rest,
  }
}

export interface ConsoleDeps {
  readonly stateDirectory: string
  readonly ports: Pick<Ports, "every">
}

/** Ends with a last look. */
export const showConsole = (
  fleet: Pick<Fleet, "snapshot">,
  view: Pick<View, "output">,
  { stateDirectory, ports }: ConsoleDeps,
): (() => void) => {
  const tails = new Map<string, { readonly source: string; readonly tail: Tail }>()
  const follow = (session: SessionView, from: "start" | "end"): void => {
    for (const stream of streams) {
      const file = join(consoleFolder(stateDirectory, session), `${stream}.log`)
      const source = `${session.agent} ${stream}`
      if (!tails.has(file)) tails.set(file, { source, tail: createTail(file, from) })
    }
  }
  const each = (lines: (tail: Tail) => readonly string[]): void => {
    for (const { source, tail } of tails.values()) for (const line of lines(tail)) view.output(source, line)
  }
  for (const session of fleet.snapshot().sessions) follow(session, "end")
  const look = (): void => {
    for (const session of fleet.snapshot().sessions) follow(session, "start")
    each((tail) => tail.look())
  }
  const stop = ports.every(lookEveryMs, look)
  return () => {
    stop()
    look()
    each((tail) => tail.rest())
  }
}
