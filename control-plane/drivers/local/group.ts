/**
 * Control groups (v2) that a supervisor made for its Computer. A process cannot leave its group, so killing the group
 * also ends what hid its environment. Where there is no such group, there is nothing to do here.
 */
import { readdir, readFile, rmdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { ComputerId } from "@computerd/protocol/ids"

const read = async (path: string): Promise<string> => readFile(path, "utf8").catch(() => "")

/** Where the unified hierarchy is mounted, with the part of it that is visible there. */
const unifiedMount = async (): Promise<{ readonly point: string; readonly root: string } | undefined> => {
  for (const line of (await read("/proc/self/mountinfo")).split("\n")) {
    const [left = "", right = ""] = line.split(" - ")
    const fields = left.split(" ")
    const [root, point] = [fields[3], fields[4]]
    if (right.startsWith("cgroup2 ") && root !== undefined && point !== undefined) return { point, root }
  }
  return undefined
}

/** Supervisors are started in our own group and make theirs below it. */
const ownGroup = async (): Promise<string | undefined> => {
  const mount = await unifiedMount()
  const lines = (await read("/proc/self/cgroup")).split("\n")
  const own = lines.find((line) => line.startsWith("0::/"))?.slice("0::".length)
  if (mount === undefined || own === undefined) return undefined
  if (mount.root === "/") return join(mount.point, own)
  return own.startsWith(mount.root) ? join(mount.point, own.slice(mount.root.length)) : undefined
}

const subdirectories = async (directory: string): Promise<readonly string[]> => {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
}

/** The groups of one Computer: those right below ours that bear its id. */
export const groupsOf = async (computerId: ComputerId): Promise<readonly string[]> => {
  const own = await ownGroup()
  if (own === undefined) return []
  return (await subdirectories(own))
    .filter((name) => name.endsWith(computerId))
    .map((name) => join(own, name))
}

/** Of the group and everything below it. False: it is gone, or there is no freezer here. */
export const setFrozen = (group: string, frozen: boolean): Promise<boolean> =>
  writeFile(join(group, "cgroup.freeze"), frozen ? "1" : "0", { flag: "r+" }).then(
    () => true,
    () => false,
  )

/** One that is gone has nothing that runs. */
export const isFrozen = async (group: string): Promise<boolean> => {
  const events = await read(join(group, "cgroup.events"))
  return events === "" || events.includes("frozen 1") || !events.includes("populated 1")
}

/** Of the group and those below it. */
export const pidsOf = async (group: string): Promise<readonly number[]> => {
  const own = (await read(join(group, "cgroup.procs"))).split("\n").filter(Boolean).map(Number)
  const below = (await subdirectories(group)).map((name) => pidsOf(join(group, name)))
  return [...own, ...(await Promise.all(below)).flat()]
}

export const killGroup = async (group: string): Promise<void> => {
  // It may be gone, or be someone else's by rights; the search by environment comes after this in any case.
  await writeFile(join(group, "cgroup.kill"), "1").catch(() => undefined)
}

export const isPopulated = async (group: string): Promise<boolean> =>
  (await read(join(group, "cgroup.events"))).includes("populated 1")

/** From the leaves up; a group that still holds a process stays. */
export const removeGroup = async (group: string): Promise<void> => {
  for (const name of await subdirectories(group)) await removeGroup(join(group, name))
  await rmdir(group).catch(() => undefined)
}
