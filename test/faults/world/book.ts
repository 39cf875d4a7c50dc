/** The history as a file that this process, Session processes and whoever else appends to. */
import { appendFileSync, closeSync, openSync, readFileSync, readSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Entry, EntryOf } from "../history/record.ts"

export interface Book {
  readonly write: (entry: Entry) => void
  readonly read: () => readonly Entry[]
  /** The processes of a Session that have initialised, the newest last. */
  readonly processes: (session: string) => readonly EntryOf<"initialised">[]
  readonly close: () => void
}

const chunkBytes = 64 * 1024

const parse = (lines: string): readonly Entry[] =>
  lines
    .split("\n")
    .filter(Boolean)
    .map((line): Entry => JSON.parse(line))

/** `directory` is where the workload looks for it. */
export const openBook = (directory: string): Book => {
  const file = join(directory, "history.jsonl")
  writeFileSync(file, "")
  const descriptor = openSync(file, "r")
  const initialised = new Map<string, EntryOf<"initialised">[]>()
  const chunk = Buffer.alloc(chunkBytes)
  let rest = Buffer.alloc(0)

  const take = (entry: Entry): void => {
    if (entry.kind !== "initialised") return
    const known = initialised.get(entry.session)
    if (known === undefined) initialised.set(entry.session, [entry])
    else known.push(entry)
  }

  const catchUp = (): void => {
    for (;;) {
      const count = readSync(descriptor, chunk, 0, chunkBytes, null)
      if (count === 0) return
      rest = Buffer.concat([rest, chunk.subarray(0, count)])
      const end = rest.lastIndexOf(0x0a) + 1
      for (const entry of parse(rest.subarray(0, end).toString())) take(entry)
      rest = rest.subarray(end)
    }
  }

  return {
    write: (entry) => appendFileSync(file, `${JSON.stringify(entry)}\n`),
    read: () => parse(readFileSync(file, "utf8")),
    processes: (session) => {
      catchUp()
      return initialised.get(session) ?? []
    },
    close: () => closeSync(descriptor),
  }
}
