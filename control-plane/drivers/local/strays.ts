/**
 * Ends what a dead supervisor left behind. Its Session processes and all their descendants carry the Computer's id in
 * their environment, which survives `setsid`, double forks and new process groups; where the supervisor made a control
 * group, that is killed first.
 */
import { readdir, readFile } from "node:fs/promises"
import type { ComputerId } from "@computerd/protocol/ids"
import type { Ports } from "../../ports.ts"
import { groupsOf, isPopulated, killGroup, removeGroup } from "./group.ts"
import { type ProcessIdentity, readBootId, signalProcess, startTimeOf } from "./identity.ts"

/** From the first look until nothing is found; a process that cannot be killed must not keep the report. */
const strayEndMaxMs = 1_500
const strayLookMs = 20

/** Whether a list that /proc separates by NUL has exactly this entry. */
const holds = async (path: string, entry: string): Promise<boolean> => {
  try {
    return (await readFile(path, "utf8")).split("\0").includes(entry)
  } catch {
    return false
  }
}

const findProcesses = async (
  matches: (pid: number) => Promise<boolean>,
): Promise<readonly ProcessIdentity[]> => {
  const bootId = await readBootId()
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number)
  const found: ProcessIdentity[] = []
  for (const pid of pids) {
    if (pid === process.pid || !(await matches(pid))) continue
    const startTime = await startTimeOf(pid)
    if (startTime !== undefined) found.push({ pid, startTime, bootId })
  }
  return found
}

export const findStrays = (computerId: ComputerId): Promise<readonly ProcessIdentity[]> =>
  findProcesses((pid) => holds(`/proc/${pid}/environ`, `HELMR_COMPUTER_ID=${computerId}`))

/** The supervisor that was started with this configuration file and may not be on record. */
export const findSupervisor = async (configuration: string): Promise<ProcessIdentity | undefined> => {
  const [found] = await findProcesses((pid) => holds(`/proc/${pid}/cmdline`, configuration))
  return found
}

const pause = (ports: Pick<Ports, "after">): Promise<void> =>
  new Promise((resolve) => ports.after(strayLookMs, resolve))

/** Looks again after each round, since a process may fork while the others are killed. What still lives. */
export const endStrays = async (
  computerId: ComputerId,
  ports: Pick<Ports, "runningMs" | "after">,
): Promise<readonly ProcessIdentity[]> => {
  const deadline = ports.runningMs() + strayEndMaxMs
  const groups = await groupsOf(computerId)
  for (const group of groups) await killGroup(group)
  let strays = await findStrays(computerId)
  while (strays.length > 0 && ports.runningMs() < deadline) {
    for (const stray of strays) await signalProcess(stray, "SIGKILL")
    await pause(ports)
    strays = await findStrays(computerId)
  }
  for (const group of groups) {
    while ((await isPopulated(group)) && ports.runningMs() < deadline) await pause(ports)
    await removeGroup(group)
  }
  return strays
}
