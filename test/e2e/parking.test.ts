/** Computers that give their room to others: frozen with everything that runs on them, and going on where they were. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync } from "node:fs"
import type { ComputerId } from "@computerd/protocol/ids"
import { createRig, dead, publish, type Rig, until } from "../control-plane/drivers/rig.ts"
import { clientOf, controls, initsIn, input, processesOn, scene, startWith } from "./plane.ts"

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
  // Its Computer may be frozen with the answer still in it: this client, which is not, does not wait for that.
  const asked = waking.ask("enqueue", args).catch(() => undefined)
  const woken = await until("the Turn that wakes", async () => at.session(first.sessionId).turns[1])
  const after = await at.settled({ sessionId: first.sessionId, turnId: woken.id })
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
  await asked
  expect(await plane.close()).toEqual([])
})

test("R166 what waits for the caller's own room is told so at once; with more room the wait ends well", async () => {
  const plane = await rig.open({ capacity: 1 })
  await publish(plane, controls)
  const at = scene(rig, plane)
  const gate = at.file("gate")
  const first = startWith(plane, "caller", { gate })
  const client = await clientOf(await at.init(first.sessionId))
  const spawned = { agent: "worker", input: input({ log: at.file("log") }) }
  const child = (await client.ask("spawn", spawned)) as never as typeof first
  const target = { sessionId: child.sessionId, turnId: child.turnId }
  const refused = await client.call("wait_turn", { ...target, timeoutMs: 30_000 })
  expect(refused).toMatchObject({ isError: true })
  expect(refused.text).toMatch(/^capacity_wait_blocked: /)
  expect(await client.ask("inspect_turn", target)).toMatchObject({ status: "queued", waitBlocked: true })
  await client.close()
  await at.open(gate)
  expect((await at.settled(first)).status).toBe("completed")
  expect((await at.settled(child)).status).toBe("completed")
  await at.residency(at.session(first.sessionId).computerId, "parked")
  expect(await plane.close()).toEqual([])

  const roomy = await rig.open({ capacity: 2 })
  const there = scene(rig, roomy)
  const hand = there.file("gate")
  const again = startWith(roomy, "caller", { gate: hand })
  const free = await clientOf(await there.init(again.sessionId))
  const other = (await free.ask("spawn", {
    ...spawned,
    input: input({ log: there.file("log") }),
  })) as never as typeof first
  const wait = { sessionId: other.sessionId, turnId: other.turnId, timeoutMs: 15_000 }
  expect(await free.ask("wait_turn", wait)).toMatchObject({
    status: "settled",
    outcome: { status: "completed" },
  })
  await there.open(hand)
  await there.settled(again)
  await free.close()
})

const value = async <Value>(
  answer: Promise<{ ok: true; value: Value } | { ok: false; error: { message: string } }>,
) => {
  const result = await answer
  if (!result.ok) throw new Error(result.error.message)
  return result.value
}

type Plane = Awaited<ReturnType<Rig["spawn"]>>

/** Two Sessions on a control plane that has room for one: the first one's Computer is parked. */
const parkedOne = async (plane: Plane) => {
  await value(plane.client.publish({ directory: controls }))
  const row = async (sessionId: string) =>
    (await value(plane.client.snapshot())).sessions.find((one) => one.id === sessionId)
  const start = async (idempotencyKey: string) => {
    const turn = await value(plane.client.startSession({ agent: "caller", input: input({}), idempotencyKey }))
    await until(
      "the Turn's end",
      async () => ((await row(turn.sessionId))?.turns[0]?.settledAtMs ?? null) !== null || undefined,
    )
    const { computerId } = (await row(turn.sessionId))!
    return { ...turn, computerId, supervisor: await rig.supervisorPid(computerId) }
  }
  const first = await start("first")
  return { first, second: await start("second") }
}

const residencyOf = async (plane: Plane, computerId: ComputerId) =>
  (await value(plane.client.snapshot())).computers.find((one) => one.id === computerId)?.residency

test("PK4 a control plane that was killed finds its parked Computer parked, and wakes it when it is needed", async () => {
  const before = await rig.spawn({ capacity: 1 })
  const { first, second } = await parkedOne(before)
  const frozen = processesOn(first.computerId, first.supervisor)
  await before.kill()
  const after = await rig.spawn({ capacity: 1 })
  expect(await residencyOf(after, first.computerId)).toBe("parked")
  expect(processesOn(first.computerId, first.supervisor)).toEqual(frozen)
  expect(frozen.length).toBeGreaterThanOrEqual(2)
  expect(frozen.filter(({ isFrozen }) => !isFrozen)).toEqual([])

  const inits = (computerId: ComputerId) => initsIn(rig, computerId, "caller")
  const client = await clientOf(inits(second.computerId)[0]!)
  const call = {
    sessionId: first.sessionId,
    input: input({ name: "list_computers", args: {} }),
    idempotencyKey: "wake",
  }
  // Repeated under its key until it is admitted. Its Computer may be frozen with an answer still in it: nobody waits for one.
  const woken = await until("the admission", async () => {
    void client.call("enqueue", call).catch(() => undefined)
    await Bun.sleep(100)
    const { sessions } = await value(after.client.snapshot())
    return sessions.find(({ id }) => id === first.sessionId)?.turns[1]
  })
  const turn = await value(after.client.turn(first.sessionId, woken.id, 30_000))
  expect(turn).toMatchObject({
    status: "completed",
    result: { isError: false, isSameHeader: true, pid: inits(first.computerId)[0]!.pid },
  })
  expect(inits(first.computerId)).toHaveLength(1)
  await until(
    "the other one to be parked",
    async () => (await residencyOf(after, second.computerId)) === "parked" || undefined,
  )
  await client.close()
  expect(await after.stop()).toBe(0)
})

test("with a lifeline a parked Computer wakes and ends when the control plane is killed", async () => {
  const plane = await rig.spawn({ capacity: 1, local: { lifeline: true } })
  const { first, second } = await parkedOne(plane)
  await until(
    "the parking",
    async () => (await residencyOf(plane, first.computerId)) === "parked" || undefined,
  )
  const all = [
    ...processesOn(first.computerId, first.supervisor),
    ...processesOn(second.computerId, second.supervisor),
  ]
  expect(all.length).toBeGreaterThanOrEqual(4)
  await plane.kill()
  for (const { pid } of all) await dead(pid)
})

test("a parked Computer that nothing uses is deleted with its directory; one whose supervisor cannot be brought back is lost, and nothing stays frozen", async () => {
  const plane = await rig.open({ capacity: 1 })
  await publish(plane, controls)
  const at = scene(rig, plane)
  const begin = async (agent: string) => {
    const turn = startWith(plane, agent, { log: at.file("log") })
    expect((await at.settled(turn)).status).toBe("completed")
    const { computerId } = at.session(turn.sessionId)
    return { ...turn, computerId, supervisor: await rig.supervisorPid(computerId) }
  }
  const unused = await begin("lasting")
  const lost = await begin("caller")
  const running = await begin("caller")
  await at.residency(lost.computerId, "parked")
  await at.residency(unused.computerId, "parked")
  const pids = [unused, lost].flatMap(({ computerId, supervisor }) => processesOn(computerId, supervisor))
  expect(pids.filter(({ isFrozen }) => !isFrozen)).toEqual([])

  expect(plane.control({ kind: "close", sessionId: unused.sessionId })).toMatchObject({ ok: true })
  rig.spoilStore(lost.computerId)
  process.kill(lost.supervisor, "SIGKILL")
  await at.residency(lost.computerId, "unavailable")
  await until("the deletion", () => (at.computer(unused.computerId) === undefined ? true : undefined))
  expect(existsSync(rig.computer(unused.computerId))).toBe(false)
  for (const { pid } of pids) await dead(pid)
  expect(at.session(unused.sessionId).status).toBe("closed")
  expect(at.session(running.sessionId)).toMatchObject({ status: "open", process: "ready" })

  const fleeting = startWith(plane, "fleeting", { log: at.file("log") })
  const { computerId } = at.session(fleeting.sessionId)
  expect((await at.settled(fleeting)).status).toBe("completed")
  await until("its deletion", () => (at.computer(computerId) === undefined ? true : undefined))
  expect(existsSync(rig.computer(computerId))).toBe(false)
  expect(processesOn(computerId, -1)).toEqual([])
})

test("a parked Computer whose supervisor is killed is parked again with the next one, and wakes as it was", async () => {
  const plane = await rig.open({ capacity: 1 })
  await publish(plane, controls)
  const at = scene(rig, plane)
  const first = startWith(plane, "caller", {})
  await at.settled(first)
  const { computerId } = at.session(first.sessionId)
  const init = await at.init(first.sessionId)
  const supervisor = await rig.supervisorPid(computerId)
  const second = startWith(plane, "caller", {})
  await at.settled(second)
  await at.residency(computerId, "parked")
  process.kill(supervisor, "SIGKILL")
  await until("the next supervisor's parking", async () => {
    const record = await Bun.file(`${rig.computer(computerId)}/process.json`).json()
    return record.state === "parked" && record.process.pid !== supervisor ? true : undefined
  })
  const client = await clientOf(await at.init(second.sessionId))
  const args = { sessionId: first.sessionId, input: input({}) }
  const woken = (await client.ask("enqueue", args)) as never as typeof first
  expect(await at.settled(woken)).toMatchObject({
    status: "completed",
    result: { pid: init.pid, isSameHeader: true },
  })
  expect(at.session(first.sessionId)).toMatchObject({ generation: 1, holds: [] })
  await client.close()
})
