/** What is left when the control plane has ended: nothing, but for its files. Each complaint is a sentence. */

import { readFileSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import type { SnapshotAnswer } from "@computerd/control-plane/http/messages"
import type { Stage } from "./stage.ts"

/** A process that was seen, told from a later one with the same number by its start. */
export interface Seen {
  readonly processes: Set<string>
  readonly ports: Set<string>
}

const startOf = (pid: number): string => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? ""
  } catch {
    return ""
  }
}

export const remember = (seen: Seen, pids: readonly number[], ports: readonly string[]): void => {
  for (const pid of pids) seen.processes.add(`${pid} ${startOf(pid)}`)
  for (const port of ports) seen.ports.add(port)
}

export const unsettled = ({ sessions }: SnapshotAnswer): readonly string[] =>
  sessions
    .flatMap(({ turns }) => turns)
    .filter(({ settledAtMs }) => settledAtMs === null)
    .map(({ id, status, waitingFor }) => `Turn ${id} is ${status}, waiting for ${waitingFor}`)

const listening = (): ReadonlySet<string> => {
  const rows = ["tcp", "tcp6"].flatMap((name) =>
    readFileSync(`/proc/net/${name}`, "utf8").split("\n").slice(1),
  )
  return new Set(
    rows
      .map((row) => row.trim().split(/\s+/))
      .filter((row) => row[3] === "0A")
      .map((row) => row[1] ?? ""),
  )
}

/** Zombies count: a process is gone when its number is free or belongs to a later one. */
const left = ({ processes, ports }: Seen): readonly string[] => {
  const open = listening()
  return [
    ...[...processes]
      .map((one) => one.split(" ") as [string, string])
      .filter(([pid, start]) => startOf(Number(pid)) === start)
      .map(([pid]) => `process ${pid} is left`),
    ...[...ports].filter((port) => open.has(port)).map((port) => `port ${port} is left`),
  ]
}

/** The machine's first process collects what died with its supervisor, when it gets to it. */
const collectedWithinMs = 10_000

const leftForGood = async (seen: Seen): Promise<readonly string[]> => {
  const end = performance.now() + collectedWithinMs
  while (left(seen).length > 0 && performance.now() < end) await Bun.sleep(100)
  return left(seen)
}

const strayFiles = async (
  { rig, temporary }: Stage,
  living: readonly string[],
): Promise<readonly string[]> => {
  const computers = await readdir(join(rig.stateDirectory, "computers"))
  const all = await readdir(rig.stateDirectory, { recursive: true })
  return [
    ...(await readdir(temporary)).map((name) => `temporary file ${name} is left`),
    ...computers
      .filter((id) => !living.includes(id))
      .map((id) => `the folder of deleted Computer ${id} is left`),
    ...all.filter((name) => /\.(sock|part|tmp)$/.test(name)).map((name) => `${name} is left`),
  ]
}

export const remains = async (stage: Stage, seen: Seen, last: SnapshotAnswer): Promise<readonly string[]> => {
  const living = last.computers.filter(({ status }) => status !== "deleted").map(({ id }) => id)
  return [...(await leftForGood(seen)), ...(await strayFiles(stage, living))]
}
