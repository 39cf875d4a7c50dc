/**
 * Everything that runs on a Computer below its supervisor: what carries the Computer's id in its environment, and what
 * descends from such a process or from the supervisor, so that a program which clears its environment is found too.
 */
import { readdir, readFile } from "node:fs/promises"
import type { ComputerId } from "@computerd/protocol/ids"
import { type ProcessIdentity, readBootId } from "./identity.ts"

export interface Member {
  readonly identity: ProcessIdentity
  /** It does nothing more until it is continued. */
  readonly isStopped: boolean
}

interface Seen extends Member {
  readonly parent: number
  readonly isMarked: boolean
}

const read = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "")

/** Bit of SIGSTOP in the kernel's masks. */
const stopBit = 1n << 18n

/**
 * A process that waits for its own fork to start another program cannot stop before that has; with the stop pending it
 * will not come back before it is continued.
 */
const hasPendingStop = async (pid: number): Promise<boolean> => {
  const mask = /^ShdPnd:\s*([0-9a-f]+)$/m.exec(await read(`/proc/${pid}/status`))?.[1]
  return mask !== undefined && (BigInt(`0x${mask}`) & stopBit) !== 0n
}

/** The name, in parentheses, may hold anything; what follows it is fixed. `undefined`: gone, or a zombie. */
const look = async (
  pid: number,
  { marker, bootId }: { readonly marker: string; readonly bootId: string },
): Promise<Seen | undefined> => {
  const [stat, environment] = await Promise.all([read(`/proc/${pid}/stat`), read(`/proc/${pid}/environ`)])
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const [state, parent, startTime] = [fields[0], fields[1], fields[19]]
  if (state === undefined || state === "Z" || state === "X" || startTime === undefined) return undefined
  return {
    identity: { pid, startTime, bootId },
    isStopped: state === "T" || (state === "D" && (await hasPendingStop(pid))),
    parent: Number(parent),
    isMarked: environment.split("\0").includes(marker),
  }
}

const withDescendants = (all: readonly Seen[], supervisor: number): readonly Seen[] => {
  const found = new Set(all.filter(({ isMarked }) => isMarked).map(({ identity }) => identity.pid))
  let before = -1
  while (found.size !== before) {
    before = found.size
    for (const { identity, parent } of all)
      if (found.has(parent) || parent === supervisor) found.add(identity.pid)
  }
  return all.filter(({ identity }) => found.has(identity.pid) && identity.pid !== supervisor)
}

export const membersOf = async (
  computerId: ComputerId,
  supervisor: ProcessIdentity,
): Promise<readonly Member[]> => {
  const known = { marker: `HELMR_COMPUTER_ID=${computerId}`, bootId: await readBootId() }
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number)
  const seen = await Promise.all(pids.filter((pid) => pid !== process.pid).map((pid) => look(pid, known)))
  return withDescendants(
    seen.filter((one) => one !== undefined),
    supervisor.pid,
  )
}
