/** What a control plane that dies leaves to the next one. The first is a process of its own, and it is killed. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { TurnId } from "@computerd/protocol/ids"
import { program, writeTree } from "../publication/rig.ts"
import { text } from "../rig.ts"
import { alive, createRig, dead, processesOf, programs, type Rig, until } from "./rig.ts"

setDefaultTimeout(40_000)

let rig: Rig
beforeEach(async () => {
  rig = await createRig()
})
afterEach(() => rig.close())

type Plane = Awaited<ReturnType<Rig["spawn"]>>

const value = async <Value>(
  answer: Promise<{ ok: true; value: Value } | { ok: false; error: { message: string } }>,
) => {
  const result = await answer
  if (!result.ok) throw new Error(result.error.message)
  return result.value
}

/** A Turn that works until its file exists; answers when its Session process runs. */
const working = async (plane: Plane) => {
  await value(plane.client.publish({ directory: join(programs, "gate") }))
  const file = join(rig.root, "open")
  const call = { agent: "gate", input: text(file), idempotencyKey: "the one" }
  const started = await value(plane.client.startSession(call))
  const row = async () =>
    (await value(plane.client.snapshot())).sessions.find((one) => one.id === started.sessionId)
  const computerId = (await row())!.computerId
  const pid = await until("the Session process", async () => {
    const said = await readFile(join(rig.computer(computerId), "workspace/session.pid"), "utf8").catch(
      () => "",
    )
    return said === "" ? undefined : Number(said)
  })
  const supervisor = await rig.supervisorPid(computerId)
  return { ...started, call, computerId, pid, supervisor, finish: () => Bun.write(file, "") }
}

const outcome = (
  plane: Plane,
  { sessionId, turnId }: { sessionId: Parameters<Plane["client"]["turn"]>[0]; turnId: TurnId },
) =>
  until("the outcome", async () => {
    const turn = await value(plane.client.turn(sessionId, turnId, 2_000))
    return turn.settledAtMs === null ? undefined : turn
  })

test("living supervisors are taken over after kill -9, on the same address, with the Turn still running", async () => {
  const first = await rig.spawn()
  const work = await working(first)
  await first.kill()
  expect([await alive(work.supervisor), await alive(work.pid)]).toEqual([true, true])

  const second = await rig.spawn()
  expect(second.url).toBe(first.url)
  expect(await rig.supervisorPid(work.computerId)).toBe(work.supervisor)
  const repeated = await value(second.client.startSession(work.call))
  expect([repeated.sessionId, repeated.turnId]).toEqual([work.sessionId, work.turnId])
  await work.finish()
  expect(await outcome(second, work)).toMatchObject({ status: "completed", result: work.pid })
  expect((await value(second.client.snapshot())).sessions).toHaveLength(1)

  expect(await second.stop()).toBe(0)
  expect(await processesOf(rig.stateDirectory)).toEqual([])
})

test("C2 a supervisor that was taken over and dies is started again, and its Turn goes on", async () => {
  const first = await rig.spawn()
  const work = await working(first)
  await first.kill()
  const second = await rig.spawn()
  process.kill(work.supervisor, "SIGKILL")
  await until("another supervisor", async () =>
    (await rig.supervisorPid(work.computerId)) === work.supervisor ? undefined : true,
  )
  await work.finish()
  expect(await outcome(second, work)).toMatchObject({ status: "completed", result: work.pid })
})

test("C2 a supervisor that died while no control plane ran is started by the next one, and its Turn goes on", async () => {
  const first = await rig.spawn()
  const work = await working(first)
  await first.kill()
  process.kill(work.supervisor, "SIGKILL")
  await dead(work.supervisor)
  const second = await rig.spawn()
  await work.finish()
  expect(await outcome(second, work)).toMatchObject({ status: "completed", result: work.pid })
})

test("C2 a supervisor that died while no control plane ran and cannot be started is reported with what it ran", async () => {
  const first = await rig.spawn()
  const work = await working(first)
  await first.kill()
  rig.spoilStore(work.computerId)
  process.kill(work.supervisor, "SIGKILL")
  await dead(work.supervisor)
  const second = await rig.spawn()
  expect(await outcome(second, work)).toMatchObject({
    status: "interrupted",
    error: { code: "process_lost", message: expect.stringContaining("could not be started again") },
  })
  expect(await alive(work.pid)).toBe(false)
})

test("C1 a supervisor that was started and not yet on record is found, and no second one is started", async () => {
  const first = await rig.spawn()
  const work = await working(first)
  await first.kill()
  await Bun.write(join(rig.computer(work.computerId), "process.json"), JSON.stringify({ state: "starting" }))
  const second = await rig.spawn()
  expect(await rig.supervisorPid(work.computerId)).toBe(work.supervisor)
  await work.finish()
  expect(await outcome(second, work)).toMatchObject({ status: "completed", result: work.pid })
})

test("a pid that now belongs to something else is not taken over and not harmed", async () => {
  const first = await rig.spawn()
  const work = await working(first)
  await first.kill()
  process.kill(work.supervisor, "SIGKILL")
  await dead(work.supervisor)
  const bystander = Bun.spawn(["sleep", "302"])
  const file = join(rig.computer(work.computerId), "process.json")
  const record = await Bun.file(file).json()
  await Bun.write(file, JSON.stringify({ ...record, process: { ...record.process, pid: bystander.pid } }))
  const second = await rig.spawn()
  await work.finish()
  expect(await outcome(second, work)).toMatchObject({ status: "completed", result: work.pid })
  expect(await alive(bystander.pid)).toBe(true)
  bystander.kill()
  await bystander.exited
})

test("with a lifeline, supervisors and their Sessions end when the control plane is killed", async () => {
  const first = await rig.spawn({ local: { lifeline: true } })
  const work = await working(first)
  await first.kill()
  await dead(work.supervisor)
  await dead(work.pid)
})

test("H1 what ran unenforced is ended by a control plane that enforces", async () => {
  const source = join(rig.root, "policy")
  await writeTree(source, { "index.ts": program({ template: "network: { blockAll: true }," }) })
  const first = await rig.spawn({ unenforced: true })
  await value(first.client.publish({ directory: source }))
  const started = await value(
    first.client.startSession({ agent: "a", input: text("x"), idempotencyKey: "a" }),
  )
  expect(await outcome(first, started)).toMatchObject({ status: "completed" })
  const [row] = (await value(first.client.snapshot())).computers
  const supervisor = await rig.supervisorPid(row!.id)
  await first.kill()
  const second = await rig.spawn()
  await dead(supervisor)
  await until("the reason", async () => {
    const [now] = (await value(second.client.snapshot())).computers
    return now?.error?.includes("cannot enforce the network") ? true : undefined
  })
})

test("a second control plane on a state directory names the first one's pid and disturbs nothing", async () => {
  const first = await rig.spawn()
  await expect(rig.spawn()).rejects.toThrow(`pid ${first.pid}`)
  expect((await first.client.snapshot()).ok).toBe(true)
  await first.kill()
  const second = await rig.spawn()
  expect((await second.client.snapshot()).ok).toBe(true)
})

test("a busy port is named in one clear error, and living supervisors are never left behind for another port", async () => {
  const blocker = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(), reusePort: false })
  const listen = { hostname: "127.0.0.1", port: blocker.port ?? 0 }
  await expect(rig.open({ listen })).rejects.toThrow(`cannot listen on 127.0.0.1:${blocker.port}`)
  await blocker.stop(true)

  const first = await rig.spawn()
  const work = await working(first)
  await first.kill()
  const port = Number(new URL(first.url).port)
  const thief = Bun.serve({ port, hostname: "127.0.0.1", fetch: () => new Response(), reusePort: false })
  await expect(rig.spawn()).rejects.toThrow(`:${port}`)
  await thief.stop(true)
  const second = await rig.spawn()
  await work.finish()
  expect(await outcome(second, work)).toMatchObject({ status: "completed" })
})
