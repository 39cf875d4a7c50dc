/** Controls on real handlers in real processes, asked for through a stock client of the owner's endpoint. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { readdir } from "node:fs/promises"
import type { ControlPlane } from "@computerd/control-plane/control-plane"
import { alive, createRig, dead, publish, type Rig, until } from "../control-plane/drivers/rig.ts"
import {
  clientOf,
  controls,
  input,
  type Scene,
  type StockClient,
  scene,
  startWith,
  type Turn,
  type Work,
} from "./plane.ts"

setDefaultTimeout(60_000)

const stopGraceMs = 4_500

let rig: Rig
let plane: ControlPlane
let at: Scene
let owner: StockClient
let ownerTurn: Turn

/** One root Session owns all the workers of these tests. */
beforeAll(async () => {
  rig = await createRig()
  plane = await rig.open({ settings: { stopGraceMs } })
  await publish(plane, controls)
  at = scene(rig, plane)
  ownerTurn = startWith(plane, "caller", {})
  owner = await clientOf(await at.init(ownerTurn.sessionId))
})
afterAll(async () => {
  await owner.close()
  await rig.close()
})

const turnOf = (answer: unknown): Turn => answer as Turn

const spawn = async (work: Work): Promise<Turn> =>
  turnOf(await owner.ask("spawn", { agent: "worker", input: input(work) }))

const enqueue = async ({ sessionId }: Turn, work: Work): Promise<Turn> =>
  turnOf(await owner.ask("enqueue", { sessionId, input: input(work) }))

/** A worker whose first Turn runs and whose second one waits for it. */
const busy = async (work: Omit<Work, "log"> = {}) => {
  const log = at.file("log")
  const gate = at.file("gate")
  const first = await spawn({ log, gate, ...work })
  const second = await enqueue(first, { log })
  await at.said(log, "1 begins")
  await until("the control plane to hear of it", () => (at.status(first) === "running" ? true : undefined))
  return { log, gate, first, second, sessionId: first.sessionId }
}

const ordered = (log: string, ...what: readonly string[]): void => {
  const said = at.log(log).map((line) => what.find((one) => line.startsWith(one)) ?? "")
  expect(said.filter((one) => one !== "")).toEqual([...what])
}

const held = async (sessionId: string) =>
  ((await owner.ask("inspect_session", { sessionId })) as { holds: readonly { id: string; kind: string }[] })
    .holds

const closed = ({ sessionId }: Turn) =>
  until(`${sessionId} to be closed`, () => (at.session(sessionId).status === "closed" ? true : undefined))

describe("interrupt_turn", () => {
  test("R121 R122 R123 R124 R143 one running Turn stops, the next one runs, the process and the caller's others go on", async () => {
    const { log, first, second, sessionId } = await busy()
    const bystander = await busy()
    const { pid } = await at.init(sessionId)
    const idempotencyKey = "interrupt once"
    const answer = await owner.ask("interrupt_turn", { ...first, sequence: undefined, idempotencyKey })
    expect(answer).toEqual({ id: expect.any(String), sessionId, turnId: first.turnId, status: "accepted" })
    expect(await owner.ask("interrupt_turn", { ...first, sequence: undefined, idempotencyKey })).toEqual(
      answer,
    )
    expect(await at.settled(first)).toMatchObject({ status: "interrupted", error: { code: "interrupted" } })
    expect(await at.settled(second)).toMatchObject({ status: "completed", result: { pid } })
    ordered(log, "1 begins", "1 is told to stop", "1 ends", "2 begins", "2 ends")
    expect(await held(sessionId)).toEqual([])
    expect(at.session(sessionId).generation).toBe(1)
    expect(at.status(bystander.first)).toBe("running")
    for (const [turn, status] of [
      [bystander.second, "queued"],
      [second, "completed"],
      [first, "interrupted"],
    ] as const) {
      const refused = await owner.call("interrupt_turn", {
        sessionId: turn.sessionId,
        turnId: turn.turnId,
        idempotencyKey: `not ${status}`,
      })
      expect(refused.text).toMatch(/^turn_not_interruptible: /)
      expect(refused.text).toContain(status)
    }
    await at.open(bystander.gate)
    expect((await at.settled(bystander.second)).status).toBe("completed")
  })

  test("R126 R127 the next Turn begins after a handler that takes 3 s to stop, never beside it", async () => {
    const { log, first, second } = await busy({ stopMs: 3_000 })
    await owner.ask("interrupt_turn", { sessionId: first.sessionId, turnId: first.turnId })
    expect([at.status(first), at.status(second)]).toEqual(["running", "queued"])
    await at.said(log, "1 is told to stop")
    expect((await at.settled(first)).status).toBe("interrupted")
    expect((await at.settled(second)).status).toBe("completed")
    ordered(log, "1 begins", "1 is told to stop", "1 ends", "2 begins", "2 ends")
  })

  test("R128 a handler that ignores its signal is ended with all that it has started, and its Session is held", async () => {
    const { log, first, second, sessionId } = await busy({ stopMs: "never" })
    const started = Number((await at.said(log, "has started")).split(" ").at(-1))
    const { pid } = await at.init(sessionId)
    await owner.ask("interrupt_turn", { sessionId, turnId: first.turnId })
    expect(await at.settled(first)).toMatchObject({ status: "interrupted", error: { code: "stop_timeout" } })
    await dead(pid)
    await dead(started)
    expect(await held(sessionId)).toMatchObject([
      { kind: "recovery", session_id: sessionId, recovery_gap: { turn_id: first.turnId, generation: 1 } },
    ])
    expect(at.status(second)).toBe("queued")
    expect(at.log(log).some((line) => line.startsWith("2"))).toBe(false)
    expect(await owner.ask("cancel_session", { sessionId })).toMatchObject({ status: "closed" })
    expect((await at.settled(second)).status).toBe("cancelled")
  })
})

describe("interrupt_session", () => {
  test("R130 R57 R138 R143 R236 after a hold and its release the same process goes on, with the same header", async () => {
    const { log, first, second, sessionId } = await busy()
    const init = await at.init(sessionId)
    const own = await clientOf(init)
    const { holdId } = await owner.ask("interrupt_session", { sessionId })
    expect((await at.settled(first)).status).toBe("interrupted")
    expect(await held(sessionId)).toMatchObject([{ id: holdId, kind: "interrupt", can_release: true }])
    const refused = () =>
      own.call("skills", {}).then(
        () => false,
        (error: Error) => error.message.includes("503") || String(error).includes("held"),
      )
    await until("the endpoint to refuse", async () => ((await refused()) ? true : undefined))
    expect(at.status(second)).toBe("queued")
    await owner.ask("resume_session", { sessionId, holdId })
    expect(await at.settled(second)).toMatchObject({ status: "completed", result: { pid: init.pid } })
    expect(at.status(first)).toBe("interrupted")
    ordered(log, "1 begins", "1 is told to stop", "1 ends", "2 begins", "2 ends")
    expect(JSON.parse((await own.call("skills", {})).text)).toMatchObject({
      skills: [{ name: "helmr-runtime" }],
    })
    expect(at.session(sessionId)).toMatchObject({ generation: 1, holds: [] })
    expect(await alive(init.pid)).toBe(true)
    await own.close()
  })

  test("R132 R193 a held Session that is closed cancels what waits and ends without a resume", async () => {
    const { log, first, second, sessionId } = await busy()
    await owner.ask("interrupt_session", { sessionId })
    await owner.ask("close_session", { sessionId })
    expect((await at.settled(first)).status).toBe("interrupted")
    expect((await at.settled(second)).status).toBe("cancelled")
    await closed(first)
    expect(at.log(log).some((line) => line.startsWith("2"))).toBe(false)
    await dead((await at.init(sessionId)).pid)
  })
})

describe("the end of a Session", () => {
  test("R131 R135 R134 close lets work drain, cancel stops it; both admit nothing more and end the process", async () => {
    const [draining, cancelled] = [await busy(), await busy({ stopMs: 50 })]
    expect(await owner.ask("close_session", { sessionId: draining.sessionId })).toMatchObject({
      status: "closing",
    })
    expect(await owner.ask("cancel_session", { sessionId: cancelled.sessionId })).toMatchObject({
      status: "closing",
    })
    for (const { sessionId } of [draining, cancelled]) {
      const more = { sessionId, input: input({ log: "none" }), idempotencyKey: `more ${sessionId}` }
      expect((await owner.call("enqueue", more)).isError).toBe(true)
    }
    expect((await at.settled(cancelled.second)).status).toBe("cancelled")
    expect((await at.settled(cancelled.first)).status).toBe("cancelled")
    ordered(cancelled.log, "1 begins", "1 is told to stop", "1 ends")
    expect(at.status(draining.first)).toBe("running")
    await at.open(draining.gate)
    expect((await at.settled(draining.first)).status).toBe("completed")
    expect((await at.settled(draining.second)).status).toBe("completed")
    for (const { first } of [draining, cancelled]) {
      await closed(first)
      await dead((await at.init(first.sessionId)).pid)
      expect(await owner.ask("close_session", { sessionId: first.sessionId })).toMatchObject({
        status: "closed",
      })
    }
  })

  test("R184 R195 neither the end of a Turn nor that of a Session touches what it has started", async () => {
    const log = at.file("log")
    const gate = at.file("gate")
    const args = { agent: "worker", input: input({ log, gate }), idempotencyKey: "independent" }
    const starter = turnOf(
      await owner.ask("spawn", { agent: "worker", input: input({ log: at.file("log") }) }),
    )
    await at.settled(starter)
    const root = startWith(plane, "caller", { name: "start", args })
    const result = (await at.settled(root)).result as { text: string }
    const started = turnOf(JSON.parse(result.text))
    const spawnArgs = {
      agent: "worker",
      input: input({ log: at.file("log"), gate }),
      idempotencyKey: "owned",
    }
    const own = await clientOf(await at.init(root.sessionId))
    const child = turnOf(await own.ask("spawn", spawnArgs))
    await at.said(log, "begins")
    await until("the child to run", () => (at.status(child) === "running" ? true : undefined))
    expect(at.status(root)).toBe("completed")
    expect(plane.control({ kind: "cancel", sessionId: root.sessionId })).toMatchObject({ ok: true })
    expect((await at.settled(child)).status).toBe("cancelled")
    await closed(root)
    await closed(child)
    await until("what was started to run", () => (at.status(started) === "running" ? true : undefined))
    expect(at.session(started.sessionId)).toMatchObject({
      status: "open",
      requester: root.sessionId,
      parent: null,
    })
    await at.open(gate)
    expect((await at.settled(started)).status).toBe("completed")
    await own.close()
  })
})

test("R117 R118 R119 R120 messages wait for their listener and come in order; what nobody took is dropped with an event", async () => {
  const listen = at.file("listen")
  const { log, first, second, gate, sessionId } = await busy({ listen })
  const send = (turn: Turn, words: string, idempotencyKey = words) =>
    owner.call("send_turn", {
      sessionId: turn.sessionId,
      turnId: turn.turnId,
      message: [{ type: "text", text: words }],
      idempotencyKey,
    })
  const early = await send(first, "one")
  expect(JSON.parse(early.text)).toEqual({ id: expect.any(String), turnId: first.turnId })
  expect(await send(first, "one")).toEqual(early)
  await send(first, "two")
  expect((await send(second, "to one that waits")).text).toMatch(/^message_closed: /)
  expect(at.log(log).some((line) => line.includes("hears"))).toBe(false)
  await at.open(listen)
  await at.said(log, "hears two")
  await send(first, "three")
  await at.said(log, "hears three")
  ordered(log, "1 begins", "1 listens", "1 hears one", "1 hears two", "1 hears three")
  await at.open(gate)
  await at.settled(second)
  expect((await send(first, "too late")).text).toMatch(/^message_closed: /)
  expect(at.session(sessionId).turns).toHaveLength(2)

  const deaf = await busy()
  expect((await send(deaf.first, "unheard")).isError).toBe(false)
  await at.open(deaf.gate)
  expect((await at.settled(deaf.first)).status).toBe("completed")
  await until("the event", () =>
    rig.journal.some((event) => event.type === "messages_dropped" && event.turnId === deaf.first.turnId)
      ? true
      : undefined,
  )
})

test("R180 a child on the caller's Computer sees its files, one on a Computer of its own does not", async () => {
  const root = startWith(plane, "caller", { write: "shared.txt" })
  expect((await at.settled(root)).status).toBe("completed")
  const { computerId } = at.session(root.sessionId)
  const own = await clientOf(await at.init(root.sessionId))
  const work = { agent: "worker", input: input({ log: at.file("log"), read: "shared.txt" }) }
  const here = turnOf(await own.ask("spawn", { ...work, computerId }))
  const elsewhere = turnOf(await own.ask("spawn", work))
  expect(await at.settled(here)).toMatchObject({ result: { read: "written by the caller" } })
  expect(await at.settled(elsewhere)).toMatchObject({ result: { read: null } })
  expect(at.session(here.sessionId).computerId).toBe(computerId)
  expect(at.session(elsewhere.sessionId).computerId).not.toBe(computerId)
  await own.close()
})

test("R61 R62 R42 R50 R56 strangers are out of reach, a closed client and a DELETE change nothing, no file is installed, and without a header nothing is told", async () => {
  const stranger = startWith(plane, "caller", {})
  await at.settled(stranger)
  const init = await at.init(stranger.sessionId)
  const own = await clientOf(init)
  const { first, gate } = await busy()
  for (const tool of [
    "interrupt_session",
    "close_session",
    "cancel_session",
    "interrupt_turn",
    "send_turn",
  ] as const) {
    const turn = {
      turnId: first.turnId,
      ...(tool === "send_turn" ? { message: [{ type: "text", text: "x" }] } : {}),
    }
    const args = { sessionId: first.sessionId, idempotencyKey: tool, ...(tool.endsWith("turn") ? turn : {}) }
    expect((await own.call(tool, args)).text).toMatch(/^invalid_arguments: /)
  }
  await own.close()
  const { url, headers } = init.connection
  expect((await fetch(url, { method: "DELETE", headers })).status).toBe(405)
  expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(401)
  expect([at.session(stranger.sessionId).status, at.status(first)]).toEqual(["open", "running"])
  expect(await readdir(`${rig.computer(at.session(stranger.sessionId).computerId)}/workspace`)).toEqual([
    "inits-caller.jsonl",
  ])
  await at.open(gate)
  expect((await at.settled(first)).status).toBe("completed")
})

test("R25 R236 an idle process that dies is rebuilt at once: init runs again, the next Turn runs in it, and the old header is dead", async () => {
  const log = at.file("log")
  const first = await spawn({ log })
  await at.settled(first)
  const { sessionId } = first
  const { computerId } = at.session(sessionId)
  const before = await at.init(sessionId)
  process.kill(before.pid, "SIGKILL")
  await until("the next process", () => at.inits(computerId, "worker")[1])
  const second = await enqueue(first, { log })
  const outcome = await at.settled(second)
  const [, after] = at.inits(computerId, "worker")
  expect(outcome).toMatchObject({ status: "completed", result: { pid: after!.pid } })
  expect(at.inits(computerId, "worker")).toHaveLength(2)
  expect(at.session(sessionId)).toMatchObject({ generation: 2, holds: [] })
  expect(after!.connection.headers.Authorization).not.toBe(before.connection.headers.Authorization)
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
  const dial = (header: string) =>
    fetch(after!.connection.url, {
      method: "POST",
      body,
      headers: {
        Authorization: header,
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
      },
    })
  expect((await dial(before.connection.headers.Authorization)).status).toBe(401)
  expect((await dial(after!.connection.headers.Authorization)).status).toBe(200)
})
