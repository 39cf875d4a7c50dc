/**
 * The end at once: kills every process that this one started, however deep, every one that runs on a Computer of this
 * state directory, and the supervisors that an earlier control plane started there. A process may fork while others are
 * killed, so it looks again until nothing is left.
 */
import { readdir, readFile } from "node:fs/promises"
import { computerDirectory } from "@computerd/control-plane/drivers/local/directory"
import type { Ports } from "./ports.ts"

/** What may have left the tree of this process. */
export interface Doomed {
  /** The Computers that have been heard of so far. */
  readonly computers: ReadonlySet<string>
  readonly stateDirectory: string
}

const lookEveryMs = 20
const endMaxMs = 3_000

interface Seen {
  readonly pid: number
  readonly parent: number
  readonly dead: boolean
}

const statOf = async (pid: number): Promise<Seen | undefined> => {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")
  // The name, in parentheses, may hold anything; what follows it is fixed.
  const [state, parent] = text.slice(text.lastIndexOf(")") + 2).split(" ")
  return parent === undefined
    ? undefined
    : { pid, parent: Number(parent), dead: state === "Z" || state === "X" }
}

const processes = async (): Promise<readonly Seen[]> => {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number)
  return (await Promise.all(pids.map(statOf))).filter((seen) => seen !== undefined)
}

/** Everything below `root`, which is not part of it. */
export const below = (root: number, all: readonly Seen[]): ReadonlySet<number> => {
  const found = new Set<number>()
  const waiting = [root]
  for (let parent = waiting.pop(); parent !== undefined; parent = waiting.pop())
    for (const { pid } of all.filter((one) => one.parent === parent && !found.has(one.pid))) {
      found.add(pid)
      waiting.push(pid)
    }
  return found
}

const variable = "HELMR_COMPUTER_ID="

const computerOf = async (pid: number): Promise<string | undefined> => {
  const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "")
  return environment
    .split("\0")
    .find((entry) => entry.startsWith(variable))
    ?.slice(variable.length)
}

/** A supervisor is started with the file of its Computer. */
const isSupervisor = async (pid: number, { computers, stateDirectory }: Doomed): Promise<boolean> => {
  const words = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0")
  return [...computers].some((id) => words.includes(computerDirectory(stateDirectory, id).configuration))
}

const living = async (doomed: Doomed): Promise<readonly number[]> => {
  const all = (await processes()).filter(({ pid, dead }) => !dead && pid !== process.pid)
  const children = below(process.pid, all)
  const runsHere = async (pid: number): Promise<boolean> =>
    doomed.computers.has((await computerOf(pid)) ?? "") || (await isSupervisor(pid, doomed))
  const ours = await Promise.all(all.map(async ({ pid }) => children.has(pid) || (await runsHere(pid))))
  return all.filter((_, place) => ours[place] === true).map(({ pid }) => pid)
}

const kill = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // It ended by itself.
  }
}

/** What still lives at the end. */
export const killEverything = async (
  doomed: Doomed,
  ports: Pick<Ports, "now" | "after">,
): Promise<readonly number[]> => {
  const deadline = ports.now() + endMaxMs
  for (;;) {
    const left = await living(doomed)
    if (left.length === 0 || ports.now() > deadline) return left
    for (const pid of left) kill(pid)
    await new Promise<void>((resolve) => ports.after(lookEveryMs, resolve))
  }
}
