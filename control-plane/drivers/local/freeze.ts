/**
 * Freezes and thaws all that runs on a Computer. Its supervisor is stopped by a signal; what runs below it, by the
 * freezer of the control groups that the supervisor made, and by signals where there are none.
 *
 * FR1 the supervisor freezes first, so that nobody is given work that is about to freeze; it thaws first too, so that it
 *     serves again before those who call it wake
 * FR2 nothing counts as frozen before a look has found nothing that runs: a process may fork while others are stopped
 */
import type { ComputerId } from "@computerd/protocol/ids"
import type { Ports } from "../../ports.ts"
import { groupsOf, isFrozen, pidsOf, setFrozen } from "./group.ts"
import { type ProcessIdentity, signalProcess } from "./identity.ts"
import { type Member, membersOf } from "./members.ts"

export interface Freezable {
  readonly id: ComputerId
  readonly supervisor: ProcessIdentity
}

/** What was frozen, for whoever has to thaw it: pids, and directories of control groups. */
export type Frozen =
  | { readonly kind: "frozen"; readonly pids: readonly number[]; readonly groups: readonly string[] }
  | { readonly kind: "running"; readonly pids: readonly number[] }

/** Stopping takes milliseconds; a process in an uninterruptible wait stops when that ends. */
const freezeMaxMs = 5_000
const lookEveryMs = 5

const pause = (ports: Pick<Ports, "after">): Promise<void> =>
  new Promise((resolve) => ports.after(lookEveryMs, resolve))

/** Those whom no group freezes. */
const ungrouped = async (
  { id, supervisor }: Freezable,
  groups: readonly string[],
): Promise<readonly Member[]> => {
  const members = await membersOf(id, supervisor)
  const grouped = new Set((await Promise.all(groups.map(pidsOf))).flat())
  return members.filter(({ identity }) => !grouped.has(identity.pid))
}

const areFrozen = async (groups: readonly string[]): Promise<boolean> =>
  (await Promise.all(groups.map(isFrozen))).every((frozen) => frozen)

/** FR1 FR2 */
export const freeze = async (what: Freezable, ports: Pick<Ports, "runningMs" | "after">): Promise<Frozen> => {
  const deadline = ports.runningMs() + freezeMaxMs
  await signalProcess(what.supervisor, "SIGSTOP")
  const groups: string[] = []
  for (const group of await groupsOf(what.id)) if (await setFrozen(group, true)) groups.push(group)
  for (;;) {
    const members = await ungrouped(what, groups)
    const running = members.filter(({ isStopped }) => !isStopped)
    if (running.length === 0 && (await areFrozen(groups)))
      return { kind: "frozen", pids: members.map(({ identity }) => identity.pid), groups }
    if (ports.runningMs() > deadline)
      return { kind: "running", pids: running.map(({ identity }) => identity.pid) }
    for (const { identity } of running) await signalProcess(identity, "SIGSTOP")
    await pause(ports)
  }
}

export const thaw = async (what: Freezable): Promise<void> => {
  await thawSupervisor(what)
  await thawSessions(what)
}

export const thawSupervisor = async ({ supervisor }: Freezable): Promise<void> => {
  await signalProcess(supervisor, "SIGCONT")
}

/** Everything but the supervisor. */
export const thawSessions = async (what: Freezable): Promise<void> => {
  for (const group of await groupsOf(what.id)) await setFrozen(group, false)
  for (const { identity, isStopped } of await membersOf(what.id, what.supervisor))
    if (isStopped) await signalProcess(identity, "SIGCONT")
}
