/**
 * Turns on the controllers that limits need, from the group that this supervisor was started in down to the Computer's.
 *
 * CT1 a group with processes in it cannot hand controllers on, unless it is the root of all; so where limits were asked
 *     for this process moves to a group of its own beside the Computer's, and where another process is in the way the
 *     limits are said not to be in force
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import type { SessionLimits } from "@computerd/protocol/configuration"
import { type Controller, enabling, isLimited, missingFrom, wantedControllers } from "./limits.ts"

const read = (file: string): string => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : String(error)

/** Answers with why not. */
const handOn = (group: string, wanted: readonly Controller[]): string | undefined => {
  const file = join(group, "cgroup.subtree_control")
  const missing = missingFrom(read(file), wanted)
  if (missing.length === 0) return undefined
  try {
    writeFileSync(file, enabling(missing))
    return undefined
  } catch (error) {
    const code = codeOf(error)
    return code === "EBUSY"
      ? `other processes are in the control group ${group}; run computerd in one of its own`
      : `${group} does not hand on ${missing.join(" and ")} (${code})`
  }
}

/** Named so that whoever looks for groups of the Computer does not take it for one. */
const moveAside = (computerGroup: string): void => {
  const own = join(dirname(computerGroup), `${basename(computerGroup)}.supervisor`)
  mkdirSync(own, { recursive: true })
  writeFileSync(join(own, "cgroup.procs"), String(process.pid))
}

/** Makes the limits of the groups below the Computer's bind; `undefined`: they do, else why not. */
export const enableControllers = (computerGroup: string, limits: SessionLimits): string | undefined => {
  const parent = dirname(computerGroup)
  const wanted = wantedControllers(limits)
  const absent = missingFrom(read(join(parent, "cgroup.controllers")), wanted)
  if (absent.length > 0)
    return `cgroup v2 has no ${absent.join(" and ")} controller in ${parent}; it may be bound to cgroup v1 or not delegated`
  let problem = handOn(parent, wanted)
  if (problem !== undefined && isLimited(limits)) {
    try {
      moveAside(computerGroup)
      problem = handOn(parent, wanted)
    } catch (error) {
      problem = `${problem}; computerd could not move to a group of its own (${codeOf(error)})`
    }
  }
  return problem ?? handOn(computerGroup, wanted)
}
