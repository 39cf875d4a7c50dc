/** Computers that give their room to others: frozen with everything that runs on them, and going on where they were. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test"
import { createRig, publish, type Rig } from "../control-plane/drivers/rig.ts"
import { clientOf, controls, input, processesOn, scene, startWith } from "./plane.ts"

setDefaultTimeout(60_000)

let rig: Rig
beforeEach(async () => {
  rig = await createRig()
})
afterEach(() => rig.close())

test("R24 R189 an idle Computer parks although its child works elsewhere, and its clients go on afterwards", async () => {
  // The lease is shorter than the time that the Computer is parked.
  const plane = await rig.open({ capacity: 2, settings: { leaseMs: 1_500, leaseRenewMs: 300 } })
  await publish(plane, controls)
  const at = scene(rig, plane)
  const gate = at.file("gate")
  const log = at.file("log")
  const spawn = { agent: "worker", input: input({ log, gate }), idempotencyKey: "child" }
  const first = startWith(plane, "caller", { name: "spawn", args: spawn })
  const before = await at.settled(first)
  const { computerId } = at.session(first.sessionId)
  const init = await at.init(first.sessionId)
  const client = await clientOf(init)
  const { sessions: [child] = [] } = (await client.ask("list_sessions", { relation: "owned" })) as {
    sessions?: { id: never; initial_turn: { id: never } }[]
  }
  await at.said(log, "begins")
  const supervisor = await rig.supervisorPid(computerId)

  const other = startWith(plane, "caller", {})
  expect((await at.settled(other)).status).toBe("completed")
  expect(at.computer(computerId)).toMatchObject({ residency: "parked", desired: "parked", attached: true })
  const frozen = processesOn(computerId, supervisor)
  expect(frozen.length).toBeGreaterThanOrEqual(2)
  expect(frozen.filter(({ isFrozen }) => !isFrozen)).toEqual([])
  expect(plane.turn(child!.id, child!.initial_turn.id)?.status).toBe("running")
  // Past the lease, on any clock.
  await Bun.sleep(1_700)
  expect(at.computer(computerId)?.residency).toBe("parked")

  const waking = await clientOf(await at.init(other.sessionId))
  const args = {
    sessionId: first.sessionId,
    input: input({ name: "list_sessions", args: { relation: "owned" } }),
  }
  const second = (await waking.ask("enqueue", args)) as never as typeof first
  const after = await at.settled(second)
  expect(after).toMatchObject({ status: "completed", result: { isError: false, isSameHeader: true } })
  expect((after.result as { pid: number }).pid).toBe((before.result as { pid: number }).pid)
  expect(JSON.parse((after.result as { text: string }).text).sessions).toHaveLength(1)
  expect(at.inits(computerId, "caller")).toHaveLength(1)
  expect(at.session(first.sessionId)).toMatchObject({ generation: 1, holds: [] })
  expect(await rig.supervisorPid(computerId)).toBe(supervisor)
  // The other one has made room, and the client of this one, which knows nothing of all that, goes on.
  expect(at.computer(at.session(other.sessionId).computerId)?.residency).toBe("parked")
  expect(await client.ask("inspect_session", { sessionId: child!.id })).toMatchObject({ status: "open" })
  await at.open(gate)
  expect((await at.settled({ sessionId: child!.id, turnId: child!.initial_turn.id })).status).toBe(
    "completed",
  )
  await client.close()
  await waking.close()
  expect(await plane.close()).toEqual([])
})
