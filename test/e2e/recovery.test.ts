/** What becomes of Sessions whose process or supervisor is killed, on real Computers and with stock clients. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test"
import type { SessionId } from "@computerd/protocol/ids"
import { alive, createRig, dead, publish, type Rig, until } from "../control-plane/drivers/rig.ts"
import {
  clientOf,
  controls,
  type Init,
  input,
  type Scene,
  type StockClient,
  scene,
  startWith,
  type Turn,
} from "./plane.ts"

setDefaultTimeout(60_000)

let rig: Rig
beforeEach(async () => {
  rig = await createRig()
})
afterEach(() => rig.close())

const open = async () => {
  const plane = await rig.open()
  await publish(plane, controls)
  return { plane, at: scene(rig, plane) }
}

/** The same request until the endpoint is there again; whatever it answers then. */
const persistently = <Value>(work: () => Promise<Value>): Promise<Value> =>
  until("an answer", async () => {
    try {
      return await work()
    } catch {
      return undefined
    }
  })

const anotherSupervisor = (at: Scene, sessionId: SessionId, before: number) =>
  until("another supervisor", async () => {
    const now = await rig.supervisorPid(at.session(sessionId).computerId)
    return now === before ? undefined : now
  })

/** The status of a request with this header, or `undefined` when nobody listens there. */
const statusOf = async ({ connection }: Init): Promise<number | undefined> => {
  try {
    const response = await fetch(connection.url, {
      method: "POST",
      headers: {
        ...connection.headers,
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
      keepalive: false,
    })
    await response.body?.cancel()
    return response.status
  } catch {
    return undefined
  }
}

const nthInit = (at: Scene, sessionId: SessionId, count: number) =>
  until(`init number ${count}`, () => {
    const { computerId, agent } = at.session(sessionId)
    return at.inits(computerId, agent)[count - 1]
  })

const recoveryHold = (at: Scene, sessionId: SessionId) =>
  until("the recovery hold", () => at.session(sessionId).holds.find(({ kind }) => kind === "recovery"))

test("R236 kill -9 of the supervisor keeps pid, generation, URL and header, and the running Turn completes", async () => {
  const { plane, at } = await open()
  const gate = at.file("gate")
  const turn = startWith(plane, "caller", { gate })
  const init = await at.init(turn.sessionId)
  const client = await clientOf(init)
  const { computerId } = at.session(turn.sessionId)
  const log = at.file("log")
  const spawn = { agent: "worker", input: input({ log }), idempotencyKey: "the child" }
  const child = (await client.ask("spawn", spawn)) as never as Turn
  for (let kill = 1; kill <= 3; kill += 1) {
    const supervisor = await rig.supervisorPid(computerId)
    process.kill(supervisor, "SIGKILL")
    await anotherSupervisor(at, turn.sessionId, supervisor)
    const repeated = await persistently(() => client.ask("spawn", spawn))
    expect(repeated).toEqual({ ...child, sequence: 1 })
  }
  await at.open(gate)
  expect(await at.settled(turn)).toMatchObject({
    status: "completed",
    result: { pid: init.pid, isSameHeader: true },
  })
  expect(at.session(turn.sessionId)).toMatchObject({ generation: 1, holds: [] })
  expect(at.inits(computerId, "caller")).toHaveLength(1)
  expect((await at.settled(child)).status).toBe("completed")
  expect(plane.snapshot().sessions.filter(({ agent }) => agent === "worker")).toHaveLength(1)
  await client.close()
})

test("R25 R79 R150 a caller that dies during its Turn: the Turn is lost, its child goes on, and the rebuilt caller finds it", async () => {
  const { plane, at } = await open()
  const turn = startWith(plane, "caller", { gate: at.file("never") })
  const first = await at.init(turn.sessionId)
  const before = await clientOf(first)
  const [log, gate] = [at.file("log"), at.file("gate")]
  const spawn = { agent: "worker", input: input({ log, gate }), idempotencyKey: "the child" }
  const child = (await before.ask("spawn", spawn)) as never as Turn
  await at.said(log, "begins")
  await until("the Turn to run", () => (at.status(turn) === "running" ? true : undefined))

  process.kill(first.pid, "SIGKILL")
  expect(await at.settled(turn)).toMatchObject({ status: "interrupted", error: { code: "process_lost" } })
  expect([undefined, 401]).toContain(await statusOf(first))
  const hold = await recoveryHold(at, turn.sessionId)
  const { computerId } = at.session(turn.sessionId)
  expect(hold).toMatchObject({ kind: "recovery", reason: "signal SIGKILL" })
  // Nothing starts under a hold, and the lost Turn is not run again by what does start.
  await dead(first.pid)
  await Bun.sleep(300)
  expect(at.inits(computerId, "caller")).toHaveLength(1)
  expect(at.status(child)).toBe("running")

  expect(plane.control({ kind: "release", sessionId: turn.sessionId, holdId: hold.id })).toMatchObject({
    ok: true,
  })
  const second = await nthInit(at, turn.sessionId, 2)
  expect(second.recovery).toEqual({ kind: "reconstructed", reason: "signal SIGKILL" })
  expect(second.connection.headers).not.toEqual(first.connection.headers)
  expect(await statusOf(first)).toBe(first.connection.url === second.connection.url ? 401 : undefined)
  const after = await clientOf(second)
  const listed = (await after.ask("list_sessions", { relation: "owned" })) as { sessions: { id: string }[] }
  expect(listed.sessions.map(({ id }) => id)).toEqual([child.sessionId])
  expect(await after.ask("spawn", spawn)).toEqual({ ...child, sequence: 1 })
  await at.open(gate)
  const { sessionId, turnId } = child
  expect(await after.ask("wait_turn", { sessionId, turnId, timeoutMs: 15_000 })).toMatchObject({
    outcome: { status: "completed" },
  })
  expect(at.session(turn.sessionId)).toMatchObject({ generation: 2, holds: [] })
  expect(at.status(turn)).toBe("interrupted")
  await before.close()
  await after.close()
})

const workerOf = async (owner: StockClient, at: Scene) => {
  const [log, gate] = [at.file("log"), at.file("gate")]
  const turn = (await owner.ask("spawn", { agent: "worker", input: input({ log, gate }) })) as never as Turn
  const pid = Number((await at.said(log, "begins in")).split(" ").at(-1))
  await until("the Turn to run", () => (at.status(turn) === "running" ? true : undefined))
  return { turn, log, gate, pid }
}

test("R140 R143 an owner sees the gap of its child's lost Turn, releases it, and the next Turn runs in the next generation", async () => {
  const { plane, at } = await open()
  const root = startWith(plane, "caller", {})
  await at.settled(root)
  const owner = await clientOf(await at.init(root.sessionId))
  const { turn, log, pid } = await workerOf(owner, at)
  const { sessionId } = turn
  const queued = (await owner.ask("enqueue", { sessionId, input: input({ log }) })) as never as Turn
  process.kill(pid, "SIGKILL")
  await at.settled(turn)
  await recoveryHold(at, sessionId)
  const seen = (await owner.ask("inspect_session", { sessionId })) as {
    holds: { id: string; can_release: boolean; recovery_gap: unknown }[]
  }
  expect(seen.holds).toMatchObject([
    {
      kind: "recovery",
      can_release: true,
      recovery_gap: { reason: "signal SIGKILL", turn_id: turn.turnId, generation: 1 },
    },
  ] as never)
  expect(at.status(queued)).toBe("queued")
  const release = { sessionId, holdId: seen.holds[0]?.id, idempotencyKey: "release" }
  await owner.ask("resume_session", release)
  await owner.ask("resume_session", release)
  expect((await at.settled(queued)).status).toBe("completed")
  expect(at.session(sessionId)).toMatchObject({ generation: 2, holds: [] })
  expect(at.log(log).filter((line) => line.startsWith("1 begins"))).toHaveLength(1)
  await owner.close()
})

test("R25 an idle process that dies is rebuilt at once, without a Turn, and its header is dead", async () => {
  const { plane, at } = await open()
  const root = startWith(plane, "caller", {})
  await at.settled(root)
  const first = await at.init(root.sessionId)
  process.kill(first.pid, "SIGKILL")
  const second = await nthInit(at, root.sessionId, 2)
  expect(second.recovery).toEqual({ kind: "reconstructed", reason: "signal SIGKILL" })
  expect(await statusOf(first)).toBe(401)
  expect(await statusOf(second)).toBe(200)
  await until("readiness", () => (at.session(root.sessionId).process === "ready" ? true : undefined))
  expect(at.session(root.sessionId)).toMatchObject({ generation: 2, holds: [] })
  expect(await alive(second.pid)).toBe(true)
})
