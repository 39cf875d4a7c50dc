/**
 * The end at once: kills every process that this one started, however deep, every one that runs on a Computer of this
 * state directory, and the supervisors that an earlier control plane started there. A process may fork while others are
 * killed, so it looks again until nothing is left.
 */
import { readdir, readFile } from "node:fs/promises"
import { computerDirectory } from "@computerd/control-plane/drivers/local/directory"
import { type Shown, shownOf } from "@computerd/control-plane/drivers/local/shown"
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

/** A supervisor is started with the file of its Computer. */
const isSupervisor = ({ words }: Shown, { computers, stateDirectory }: Doomed): boolean =>
  [...computers].some((id) => words.includes(computerDirectory(stateDirectory, id).configuration))

/** `unclear`: it is between two programs. */
const runsHere = async (pid: number, doomed: Doomed): Promise<boolean | "unclear"> => {
  const shown = await shownOf(pid)
  if (isSupervisor(shown, doomed)) return true
  if (shown.environment === "pending") return "unclear"
  return shown.environment.some(
    (entry) => entry.startsWith(variable) && doomed.computers.has(entry.slice(variable.length)),
  )
}

const kill = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // It ended by itself.
  }
}

/** Kills what it finds as soon as it has found it. What was there, or may have been. */
const strike = async (doomed: Doomed): Promise<readonly number[]> => {
  const all = (await processes()).filter(({ pid, dead }) => !dead && pid !== process.pid)
  const children = below(process.pid, all)
  const look = async ({ pid }: Seen): Promise<number | undefined> => {
    const isDoomed = children.has(pid) || (await runsHere(pid, doomed))
    if (isDoomed === true) kill(pid)
    return isDoomed === false ? undefined : pid
  }
  return (await Promise.all(all.map(look))).filter((pid) => pid !== undefined)
}

/** What still lives at the end. However late it is, what was killed is looked for again. */
export const killEverything = async (
  doomed: Doomed,
  ports: Pick<Ports, "now" | "after">,
): Promise<readonly number[]> => {
  const deadline = ports.now() + endMaxMs
  let left = await strike(doomed)
  for (let late = false; left.length > 0 && !late; ) {
    await new Promise<void>((resolve) => ports.after(lookEveryMs, resolve))
    late = ports.now() > deadline
    left = await strike(doomed)
  }
  return left
}
