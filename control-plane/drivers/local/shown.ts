/**
 * What the kernel shows of a process: its command line and its environment. Both come from its memory, which a fork
 * that has not started another program yet shares with its parent, and which is new, and at first without either, in
 * the middle of `exec`.
 */
import { readFile } from "node:fs/promises"

export interface Shown {
  readonly words: readonly string[]
  /** `pending`: it was in the middle of `exec`; the next look will tell. */
  readonly environment: readonly string[] | "pending"
}

const read = (path: string): Promise<string | undefined> => readFile(path, "utf8").catch(() => undefined)

const kernelThread = 0x0020_0000

/**
 * Whether, by its line of `/proc/<pid>/stat`, no environment of it will come to light: it is dead, the kernel's own, or
 * was started without variables, which is a place of no length. One between two programs has no such place yet, or one
 * that is still growing; the end of its data, which is set last, tells. Fields are counted from the state, the third.
 */
export const hasNoEnvironment = (stat: string): boolean => {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const [state, flags, dataEnd, start, end] = [
    fields[0],
    Number(fields[6]),
    fields[43],
    fields[47],
    fields[48],
  ]
  if (end === undefined || state === "Z" || state === "X" || (flags & kernelThread) !== 0) return true
  return start === end && dataEnd !== "0"
}

const list = (text: string | undefined): readonly string[] => (text ?? "").split("\0").filter(Boolean)

/** Nothing, of one that is gone or another user's. The command line is read first: a fork has its parent's until then. */
export const shownOf = async (pid: number): Promise<Shown> => {
  const words = list(await read(`/proc/${pid}/cmdline`))
  const environment = await read(`/proc/${pid}/environ`)
  if (environment !== "") return { words, environment: list(environment) }
  const stat = (await read(`/proc/${pid}/stat`)) ?? ""
  return { words, environment: hasNoEnvironment(stat) ? [] : "pending" }
}
