/** Freezing where there is no control group: real processes that hide and fork, and the kernel's word on each. */
import { afterEach, expect, test } from "bun:test"
import { readFile } from "node:fs/promises"
import { freeze, thaw } from "@computerd/control-plane/drivers/local/freeze"
import { identityOf } from "@computerd/control-plane/drivers/local/identity"
import { membersOf } from "@computerd/control-plane/drivers/local/members"
import { silentJournal } from "@computerd/control-plane/journal"
import { systemPorts } from "@computerd/control-plane/ports"
import type { ComputerId } from "@computerd/protocol/ids"
import { alive, dead, until } from "./rig.ts"

const ports = systemPorts(silentJournal)
const stdio: ["ignore", "ignore", "ignore"] = ["ignore", "ignore", "ignore"]
const started: number[] = []

afterEach(async () => {
  for (const pid of started) if (await alive(pid)) process.kill(pid, "SIGKILL")
  for (const pid of started.splice(0)) await dead(pid)
})

const stateOf = async (pid: number): Promise<string> => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8")
  return stat.slice(stat.lastIndexOf(")") + 2)[0] ?? ""
}

/** A supervisor without the mark, and below it a Session process that forks for ever, with a child that hides. */
const computer = async () => {
  const id: ComputerId = ports.newId("cmp")
  const forks = "while :; do sleep 0.01 & wait $!; done"
  const hidden = "env -i sh -c 'while :; do sleep 0.01; done' &"
  const child = Bun.spawn(["sh", "-c", `HELMR_COMPUTER_ID=${id} setsid sh -c "${hidden} ${forks}" & wait`], {
    env: { PATH: process.env["PATH"] },
    stdio,
    detached: true,
  })
  started.push(child.pid)
  const supervisor = (await identityOf(child.pid))!
  const all = () => membersOf(id, supervisor)
  // The forking one and the hidden one; what each of them runs comes and goes.
  await until("the tree", async () => ((await all()).length >= 2 ? true : undefined))
  return { id, supervisor, all }
}

test("FR1 FR2 all that runs on a Computer freezes, what forks and what hides too, and goes on when it is thawed", async () => {
  const one = await computer()
  const other = await computer()
  const outcome = await freeze(one, ports)
  expect(outcome.kind).toBe("frozen")
  const members = await one.all()
  started.push(...members.map(({ identity }) => identity.pid))
  expect(members.length).toBeGreaterThanOrEqual(2)
  expect(members.filter(({ isStopped }) => !isStopped)).toEqual([])
  expect(await stateOf(one.supervisor.pid)).toBe("T")
  expect(outcome.pids.toSorted()).toEqual(members.map(({ identity }) => identity.pid).toSorted())
  // Frozen again, it stays what it is; another Computer never was.
  expect(await freeze(one, ports)).toEqual(outcome)
  expect(await stateOf(other.supervisor.pid)).not.toBe("T")
  const others = await other.all()
  started.push(...others.map(({ identity }) => identity.pid))
  expect(others.filter(({ isStopped }) => isStopped)).toEqual([])

  await thaw(one)
  expect(await stateOf(one.supervisor.pid)).not.toBe("T")
  const before = new Set(members.map(({ identity }) => identity.pid))
  await until("a process that was forked afterwards", async () => {
    const now = await one.all()
    started.push(...now.map(({ identity }) => identity.pid))
    return now.some(({ identity, isStopped }) => !isStopped && !before.has(identity.pid)) ? true : undefined
  })
})
