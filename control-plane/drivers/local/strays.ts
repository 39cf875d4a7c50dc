/**
 * Ends what runs on a Computer, whoever left it behind. Session processes and all their descendants carry the Computer's
 * id in their environment, which survives `setsid`, double forks and new process groups; a supervisor has the Computer's
 * configuration in its command line, and so has what it forked until that has become another program. Where the
 * supervisor made a control group, that is killed first.
 *
 * SE1 who is found is killed at once and looked for again, however late it is: on a machine that is short of time a
 *     single look takes longer than all of them should
 * SE2 nothing is known to be gone after a look that found a process between two programs, or before two looks in a row
 *     have found nothing: a process may fork, and end, behind the back of one
 */
import { readdir } from "node:fs/promises"
import type { ComputerId } from "@computerd/protocol/ids"
import type { Ports } from "../../ports.ts"
import { groupsOf, isPopulated, killGroup, removeGroup } from "./group.ts"
import { type ProcessIdentity, readBootId, signalProcess, startTimeOf } from "./identity.ts"
import { type Shown, shownOf } from "./shown.ts"

/** What is to end, by what its processes show. */
export interface Whose {
  readonly id: ComputerId
  /** The file that its supervisors are started with. */
  readonly configuration: string
}

/** From the first look until nothing is found; a process that cannot be killed must not keep the report. */
const strayEndMaxMs = 1_500
const strayLookMs = 20
/** SE1: one kills, two find nothing. */
const looksMin = 3
/** SE2 */
const looksInVain = 2

const listPids = async (): Promise<readonly number[]> =>
  (await readdir("/proc"))
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid)

const isSupervisor = ({ words }: Shown, configuration: string): boolean =>
  words.slice(-3).join("\0") === ["run", "--config", configuration].join("\0")

/** The supervisor that was started with this configuration file and may not be on record. */
export const findSupervisor = async (configuration: string): Promise<ProcessIdentity | undefined> => {
  const bootId = await readBootId()
  for (const pid of await listPids()) {
    if (!isSupervisor(await shownOf(pid), configuration)) continue
    const startTime = await startTimeOf(pid)
    if (startTime !== undefined) return { pid, startTime, bootId }
  }
  return undefined
}

const belongs = (shown: Shown, { id, configuration }: Whose): boolean | "unclear" => {
  if (isSupervisor(shown, configuration)) return true
  if (shown.environment === "pending") return "unclear"
  return shown.environment.includes(`HELMR_COMPUTER_ID=${id}`)
}

/** SE1. What was there, in words. */
const strike = async (whose: Whose): Promise<readonly string[]> => {
  const bootId = await readBootId()
  const look = async (pid: number): Promise<string | undefined> => {
    const startTime = await startTimeOf(pid)
    if (startTime === undefined) return undefined
    const belonging = belongs(await shownOf(pid), whose)
    if (belonging === false) return undefined
    if (belonging === "unclear")
      return `process ${pid} may be of ${whose.id}: it has been between two programs`
    await signalProcess({ pid, startTime, bootId }, "SIGKILL")
    return `process ${pid} of ${whose.id} could not be ended`
  }
  const found = await Promise.all((await listPids()).map(look))
  return found.filter((one) => one !== undefined)
}

const pause = (ports: Pick<Ports, "after">): Promise<void> =>
  new Promise((resolve) => ports.after(strayLookMs, resolve))

/** What could not be ended, in words. */
export const endStrays = async (
  whose: Whose,
  ports: Pick<Ports, "runningMs" | "after">,
): Promise<readonly string[]> => {
  const deadline = ports.runningMs() + strayEndMaxMs
  const groups = await groupsOf(whose.id)
  for (const group of groups) await killGroup(group)
  let left = await strike(whose)
  for (let looks = 1, inVain = 0; ; looks += 1) {
    inVain = left.length === 0 ? inVain + 1 : 0
    if (inVain === looksInVain || (looks >= looksMin && ports.runningMs() >= deadline)) break
    await pause(ports)
    left = await strike(whose)
  }
  for (const group of groups) {
    while ((await isPopulated(group)) && ports.runningMs() < deadline) await pause(ports)
    await removeGroup(group)
  }
  return left
}
