/** Several supervisors, each with a store of its own, claim one Computer of a real control plane with its credential. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { ComputerId } from "@computerd/protocol/ids"
import { operatorSocketName, type Status } from "@computerd/protocol/operator"
import { readStatus } from "@computerd/supervisor/operator/client"
import { alive, createRig, publish, type Rig, until } from "../control-plane/drivers/rig.ts"
import { repository } from "../control-plane/publication/rig.ts"
import { controls, processesOn, scene, startWith } from "./plane.ts"

setDefaultTimeout(60_000)

interface Rival {
  readonly child: Bun.Subprocess
  readonly state: string
}

let rig: Rig
let rivals: Rival[]
beforeEach(async () => {
  rig = await createRig()
  rivals = []
})
afterEach(async () => {
  for (const { child } of rivals) child.kill("SIGTERM")
  for (const { child } of rivals) await child.exited
  await rig.close()
})

/** As when a Computer's disk was copied without its store. */
const startRival = (computerId: ComputerId, name: string): Rival => {
  const directory = join(rig.root, name)
  const state = join(directory, "state")
  mkdirSync(directory)
  const given = JSON.parse(readFileSync(join(rig.computer(computerId), "supervisor.json"), "utf8"))
  const config = join(directory, "supervisor.json")
  writeFileSync(config, JSON.stringify({ ...given, stateDirectory: state, lifeline: false }))
  const child = Bun.spawn(
    [process.execPath, join(repository, "test/fixtures/supervisor.ts"), "--config", config],
    {
      stdio: ["ignore", "ignore", "ignore"],
    },
  )
  const rival = { child, state }
  rivals.push(rival)
  return rival
}

const statusIn = async (state: string): Promise<Status | undefined> => {
  const status = await readStatus(join(state, operatorSocketName))
  return status.ok ? status.value : undefined
}

const untilStatus = (state: string, holds: (status: Status) => boolean): Promise<Status> =>
  until("a status", async () => {
    const status = await statusIn(state)
    return status !== undefined && holds(status) ? status : undefined
  })

const isRefused = ({ link, lease }: Status): boolean =>
  lease.state === "none" && (link.lastError ?? "").includes("another supervisor holds the lease")

test("B2 whoever claims a Computer that is owned gets nothing of it, and harms nothing of its owner", async () => {
  const plane = await rig.open()
  await publish(plane, controls)
  const at = scene(rig, plane)
  const [log, gate] = [at.file("log"), at.file("gate")]
  const turn = startWith(plane, "worker", { log, gate })
  await at.said(log, "begins")
  const { computerId } = at.session(turn.sessionId)
  const { pid } = await at.init(turn.sessionId)
  const supervisor = await rig.supervisorPid(computerId)

  const claims = [startRival(computerId, "one"), startRival(computerId, "two")]
  for (const { state } of claims) await untilStatus(state, isRefused)
  expect(await alive(pid)).toBe(true)
  await at.open(gate)
  expect(await at.settled(turn)).toMatchObject({ status: "completed", result: { pid } })
  expect(at.session(turn.sessionId)).toMatchObject({ generation: 1, holds: [] })
  expect(await rig.supervisorPid(computerId)).toBe(supervisor)
  for (const { state } of claims) expect((await statusIn(state))?.sessions).toEqual([])
})

test("B1 B2 once the owner's lease has lapsed exactly one of two claims wins, and the owner that wakes stops", async () => {
  const plane = await rig.open({ settings: { leaseMs: 2_000, leaseRenewMs: 300 } })
  await publish(plane, controls)
  const at = scene(rig, plane)
  const log = at.file("log")
  const turn = startWith(plane, "worker", { log, gate: at.file("never") })
  await at.said(log, "begins")
  const { computerId } = at.session(turn.sessionId)
  const supervisor = await rig.supervisorPid(computerId)
  const ownState = join(rig.computer(computerId), "state")

  process.kill(supervisor, "SIGSTOP")
  const claims = [startRival(computerId, "one"), startRival(computerId, "two")]
  const won = await until("a winner", async () => {
    for (const { state } of claims) if ((await statusIn(state))?.lease.state === "held") return state
    return undefined
  })
  const [lost] = claims.map(({ state }) => state).filter((state) => state !== won)
  await untilStatus(lost ?? "", isRefused)
  expect(await at.settled(turn)).toMatchObject({
    status: "interrupted",
    error: { code: "process_lost" },
  })

  // Its process was ended by the new owner; what it still has to say is not heard.
  const before = at.session(turn.sessionId)
  process.kill(supervisor, "SIGCONT")
  await untilStatus(ownState, ({ link }) => link.state === "refused")
  await until("the end of the old owner's processes", async () =>
    (await statusIn(ownState))?.sessions.every(({ pid }) => pid === null) ? true : undefined,
  )
  expect((await statusIn(won))?.lease.state).toBe("held")
  expect((await statusIn(lost ?? ""))?.lease.state).toBe("none")
  expect(at.session(turn.sessionId).generation).toBe(before.generation)
  expect(at.session(turn.sessionId).holds.map(({ kind }) => kind)).toEqual(["recovery"])
  expect(processesOn(computerId, supervisor).filter(({ pid }) => pid !== supervisor)).toEqual([])
})
