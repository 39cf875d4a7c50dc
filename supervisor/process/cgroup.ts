/**
 * Control groups (v2) for Session processes: one for each process, below one of this Computer. A member cannot leave
 * it without our rights, so killing the group kills the whole tree, and `populated 0` proves that nothing is left.
 */
import {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import type { Setting } from "./limits.ts"

/** How process trees are kept and ended here, and why. */
export type Isolation =
  | { readonly kind: "cgroup"; readonly directory: string; readonly reason: string }
  | { readonly kind: "process_group"; readonly reason: string }

/** Mount point and root of the unified hierarchy in the text of `/proc/self/mountinfo`. */
export const findUnifiedMount = (
  mountinfo: string,
): { readonly point: string; readonly root: string } | undefined => {
  for (const line of mountinfo.split("\n")) {
    const [left, right] = line.split(" - ")
    if (right?.split(" ")[0] !== "cgroup2") continue
    const fields = left?.split(" ") ?? []
    const [root, point] = [fields[3], fields[4]]
    if (root !== undefined && point !== undefined) return { point: unescapeOctal(point), root }
  }
  return undefined
}

const unescapeOctal = (path: string): string =>
  path.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))

/** Our own group in the text of `/proc/self/cgroup`. */
export const findOwnGroup = (cgroups: string): string | undefined =>
  cgroups
    .split("\n")
    .find((line) => line.startsWith("0::/"))
    ?.slice("0::".length)

const below = (path: string, root: string): string | undefined => {
  if (root === "/") return path
  return path === root || path.startsWith(`${root}/`) ? path.slice(root.length) : undefined
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Makes the Computer's group; where that cannot be, says why and falls back to process groups. */
export const chooseIsolation = (name: string): Isolation => {
  try {
    const mount = findUnifiedMount(readFileSync("/proc/self/mountinfo", "utf8"))
    if (mount === undefined) return { kind: "process_group", reason: "no cgroup v2 hierarchy is mounted" }
    const own = findOwnGroup(readFileSync("/proc/self/cgroup", "utf8"))
    const path = own === undefined ? undefined : below(own, mount.root)
    if (path === undefined)
      return { kind: "process_group", reason: "this process is in no visible cgroup v2 group" }
    const directory = join(mount.point, path, name)
    mkdirSync(directory, { recursive: true })
    accessSync(join(directory, "cgroup.kill"), constants.W_OK)
    accessSync(join(directory, "cgroup.procs"), constants.W_OK)
    return { kind: "cgroup", directory, reason: "cgroup v2 is writable" }
  } catch (error) {
    return { kind: "process_group", reason: `cgroup v2 is not writable: ${messageOf(error)}` }
  }
}

export const makeGroup = (directory: string): void => {
  mkdirSync(directory, { recursive: true })
}

/** Answers with why the group does not have them. */
export const setGroup = (directory: string, settings: readonly Setting[]): string | undefined => {
  try {
    for (const { file, value } of settings) writeFileSync(join(directory, file), value)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

const contents = (file: string): string | undefined => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return undefined
  }
}

/** `undefined`: the group is gone. */
export const isPopulated = (directory: string): boolean | undefined => {
  const events = contents(join(directory, "cgroup.events"))
  return events === undefined ? undefined : /^populated 1$/m.test(events)
}

export const killGroup = (directory: string): void => {
  try {
    writeFileSync(join(directory, "cgroup.kill"), "1")
  } catch {
    // The group is gone, which is what was asked for; `isPopulated` tells.
  }
}

export const membersOf = (directory: string): readonly number[] =>
  (contents(join(directory, "cgroup.procs")) ?? "").split("\n").filter(Boolean).map(Number)

/** Removes an empty group and those that its processes made below it. A populated one stays. */
export const removeGroup = (directory: string): void => {
  try {
    for (const entry of readdirSync(directory, { withFileTypes: true }))
      if (entry.isDirectory()) removeGroup(join(directory, entry.name))
    rmdirSync(directory)
  } catch {
    // Not empty or gone already; the next start of this Session or the next stop tries again.
  }
}
