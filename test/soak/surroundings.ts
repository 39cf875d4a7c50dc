/** What the soak occupies beside memory: processes, ports, files and rows. */
import { Database } from "bun:sqlite"
import { readdir, readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import type { ComputerId } from "@computerd/protocol/ids"
import { processesOf, type Rig } from "../control-plane/drivers/rig.ts"
import { listeners } from "../e2e/sandbox.ts"

export interface Surroundings {
  readonly processes: number
  readonly zombies: number
  readonly ports: number
  readonly files: number
  readonly controlPlaneStore: number
  readonly controlPlaneLog: number
  readonly supervisorStore: number
  readonly supervisorLog: number
  readonly outbox: number
  readonly admissions: number
}

/** Our children that have ended and that nobody has collected. */
const zombiesOf = async (parents: readonly number[]): Promise<number> => {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name))
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")))
  return stats
    .map((line) => line.slice(line.lastIndexOf(")") + 2).split(" "))
    .filter(([state, parent]) => state === "Z" && parents.includes(Number(parent))).length
}

const sizeOf = async (file: string): Promise<number> => (await stat(file).catch(() => ({ size: 0 }))).size

const rowsIn = (file: string, table: string): number => {
  const database = new Database(file, { readonly: true })
  try {
    return database.query<{ count: number }, []>(`select count(*) as count from ${table}`).get()?.count ?? 0
  } finally {
    database.close()
  }
}

/** `computerId`: the Computer whose supervisor is never killed. */
export const surroundings = async (rig: Rig, computerId: ComputerId) => {
  const pids = await processesOf(rig.stateDirectory)
  const ports = await listeners(pids)
  const store = join(rig.computer(computerId), "state/store.sqlite")
  const plane = join(rig.stateDirectory, "control-plane.sqlite")
  const seen: Surroundings = {
    processes: pids.length,
    zombies: await zombiesOf([...pids, process.pid]),
    ports: ports.length,
    files: (await readdir(rig.root, { recursive: true })).length,
    controlPlaneStore: await sizeOf(plane),
    controlPlaneLog: await sizeOf(`${plane}-wal`),
    supervisorStore: await sizeOf(store),
    supervisorLog: await sizeOf(`${store}-wal`),
    outbox: rowsIn(store, "outbox"),
    admissions: rowsIn(store, "admissions"),
  }
  return { seen, pids, ports }
}
