import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { freshKey, text } from "../rig.ts"
import { type ApiClient, type ApiRig, createRig, other } from "./rig.ts"

let rig: ApiRig
let client: ApiClient
beforeAll(async () => {
  rig = await createRig()
  client = rig.client()
  rig.publish(["lead", "worker"])
})
afterAll(() => rig.close())

const code = (answer: { readonly body: { readonly error?: { readonly code: string } } }) =>
  answer.body.error?.code

/** Each with the same key twice, then with another body. */
const mutations: readonly (readonly [
  string,
  (session: string, turn: string) => readonly [string, object, object],
])[] = [
  ["start", () => ["/v1/sessions", { agent: "lead", input: text("a") }, { input: text("b") }]],
  ["enqueue", (session) => [`/v1/sessions/${session}/enqueue`, { input: text("a") }, { input: text("b") }]],
  [
    "send",
    (session, turn) => [
      `/v1/sessions/${session}/turns/${turn}/send`,
      { message: text("a") },
      { message: text("b") },
    ],
  ],
  [
    "interrupt of a Turn",
    (session, turn) => [`/v1/sessions/${session}/interrupt`, { turnId: turn }, { turnId: undefined }],
  ],
  ["createComputer", () => ["/v1/computers", { template: "basic" }, { template: "basic", key: "named" }]],
]

describe.each(mutations)("%s", (_, requestOf) => {
  test("has one effect and one answer for each key, and another body conflicts", async () => {
    const started = await rig.start(client)
    rig.run(started)
    const [path, body, change] = requestOf(started.sessionId, started.turnId)
    const idempotencyKey = freshKey()
    const first = await client.post(path, { ...body, idempotencyKey })
    expect([200, 201]).toContain(first.status)
    const colleague = rig.client()
    const again = await colleague.post(path, { ...body, idempotencyKey })
    expect([again.status, again.text]).toEqual([first.status, first.text])
    const conflict = await client.post(path, { ...body, ...change, idempotencyKey })
    expect([conflict.status, code(conflict)]).toEqual([409, "idempotency_conflict"])
  })
})

test("receipts of one Environment mean nothing in another", async () => {
  rig.publish(["lead"], undefined, other)
  const idempotencyKey = freshKey()
  const body = { agent: "lead", input: text("a"), idempotencyKey }
  const ours = await client.post("/v1/sessions", body)
  const theirs = await rig.client(undefined, other).post("/v1/sessions", body)
  expect(theirs.status).toBe(201)
  expect(theirs.body.sessionId).not.toBe(ours.body.sessionId)
})

test("R242 a start without valid input is refused by name", async () => {
  const bad: readonly (readonly [unknown, string, string])[] = [
    [undefined, "invalid_arguments", "input"],
    ["text", "invalid_arguments", "input"],
    [[{ type: "image" }], "content_kind_unsupported", "input"],
    [Array.from({ length: 65 }, () => ({ type: "text", text: "x" })), "content_limit_exceeded", "input"],
    [text("x".repeat(262_144)), "content_limit_exceeded", "input"],
  ]
  for (const [input, expected, field] of bad) {
    const answer = await client.post("/v1/sessions", { agent: "lead", input, idempotencyKey: freshKey() })
    expect([answer.status, code(answer), answer.body.error.field]).toEqual([400, expected, field])
  }
})

test("fields that do not exist, bad keys and unknown Agents are named", async () => {
  const good = { agent: "lead", input: text("x"), idempotencyKey: "k" }
  const cases: readonly (readonly [object, string])[] = [
    [{ ...good, colour: "red" }, "colour"],
    [{ ...good, idempotencyKey: "" }, "idempotencyKey"],
    [{ ...good, idempotencyKey: "é".repeat(257) }, "idempotencyKey"],
    [{ ...good, sessionKey: "\0" }, "sessionKey"],
    [{ ...good, computerId: "ses_1" }, "computerId"],
  ]
  for (const [body, field] of cases) {
    const answer = await client.post("/v1/sessions", body)
    expect([answer.status, code(answer), answer.body.error.field]).toEqual([400, "invalid_arguments", field])
  }
  const absent = await client.post("/v1/sessions", { ...good, agent: "nobody" })
  expect([absent.status, code(absent), absent.body.error.field]).toEqual([
    404,
    "target_not_published",
    "agent",
  ])
})

test("interrupt holds the tree, resume releases exactly that hold, and a Turn runs on", async () => {
  const started = await rig.start(client)
  rig.run(started)
  const at = `/v1/sessions/${started.sessionId}`
  const held = await client.post(`${at}/interrupt`, { idempotencyKey: freshKey() })
  expect(held.body).toMatchObject({ sessionId: started.sessionId, status: "accepted" })
  const session = await client.get(at)
  expect(session.body.holds).toMatchObject([{ id: held.body.holdId, kind: "interrupt", canRelease: true }])
  const resumed = await client.post(`${at}/resume`, {
    holdId: held.body.holdId,
    idempotencyKey: freshKey(),
  })
  expect(resumed.body).toMatchObject({ status: "accepted", holdId: held.body.holdId })
  expect((await client.get(at)).body.holds).toEqual([])
})

test("storage pressure is released by the system alone", async () => {
  const { sessionId } = await rig.start(client)
  const pressed = rig.receiver.control({ kind: "storage_pressure", sessionId })
  if (!pressed.ok) throw new Error(pressed.error.message)
  const refused = await client.post(`/v1/sessions/${sessionId}/resume`, {
    holdId: pressed.value.holdId,
    idempotencyKey: freshKey(),
  })
  expect([refused.status, code(refused), refused.body.error.field]).toEqual([
    400,
    "invalid_arguments",
    "holdId",
  ])
  expect((await client.get(`/v1/sessions/${sessionId}`)).body.holds).toMatchObject([{ canRelease: false }])
})

test("close drains, cancel stops; both answer with the status, and say closed again", async () => {
  const started = await rig.start(client)
  const supervisor = rig.run(started)
  const at = `/v1/sessions/${started.sessionId}`
  expect((await client.post(`${at}/close`, { idempotencyKey: freshKey() })).body.status).toBe("closing")
  const late = await client.post(`${at}/enqueue`, { input: text("x"), idempotencyKey: freshKey() })
  expect([late.status, code(late)]).toEqual([400, "invalid_arguments"])
  supervisor.settle(started.sessionId, started.turnId)
  expect((await client.get(at)).body.status).toBe("closed")
  expect((await client.post(`${at}/cancel`, { idempotencyKey: freshKey() })).body.status).toBe("closed")

  const queued = await rig.start(client)
  const cancelled = await client.post(`/v1/sessions/${queued.sessionId}/cancel`, {
    idempotencyKey: freshKey(),
  })
  expect(cancelled.body.status).toBe("closed")
  const turn = await client.get(`/v1/sessions/${queued.sessionId}/turns/${queued.turnId}`)
  expect(turn.body).toMatchObject({ status: "cancelled", error: { code: "cancelled" } })
})

test("a message reaches a running Turn only, and nothing is created for another", async () => {
  const { sessionId, turnId } = await rig.start(client)
  const send = () =>
    client.post(`/v1/sessions/${sessionId}/turns/${turnId}/send`, {
      message: text("hello"),
      idempotencyKey: freshKey(),
    })
  expect(code(await send())).toBe("message_closed")
  const supervisor = rig.run({ sessionId, turnId })
  const sent = await send()
  expect(sent.body).toMatchObject({ turnId })
  expect(supervisor.pull()).toMatchObject([
    { type: "message", turnId, message: { messageId: sent.body.id, content: text("hello") } },
  ])
})

test("a Computer is deleted when no Session is open on it, and its name is free again", async () => {
  const make = () =>
    client.post("/v1/computers", { template: "basic", key: "bench", idempotencyKey: freshKey() })
  const { computerId } = (await make()).body
  expect(code(await make())).toBe("invalid_arguments")
  const { sessionId } = await rig.start(client, "lead", { computerId })
  const remove = () => client.delete(`/v1/computers/${computerId}?idempotencyKey=${freshKey()}`)
  const refused = await remove()
  expect([refused.status, code(refused)]).toEqual([409, "computer_in_use"])
  await client.post(`/v1/sessions/${sessionId}/cancel`, { idempotencyKey: freshKey() })
  expect((await remove()).body).toEqual({ computerId, status: "deleting" })
  rig.receiver.computerDeleted(computerId)
  expect((await remove()).body).toEqual({ computerId, status: "deleted" })
  expect((await make()).status).toBe(201)
  const placed = await client.post("/v1/sessions", {
    agent: "lead",
    computerId,
    input: text("x"),
    idempotencyKey: freshKey(),
  })
  expect([placed.status, code(placed), placed.body.error.field]).toEqual([
    400,
    "invalid_arguments",
    "computerId",
  ])
})

test("an open question is listed with what it asks, and its answer goes to the Turn that asked", async () => {
  const started = await rig.start(client)
  const supervisor = rig.run(started)
  const requestId = rig.ports.newId("req")
  supervisor.emit({
    type: "question",
    sessionId: started.sessionId,
    generation: supervisor.generation(started.sessionId),
    turnId: started.turnId,
    requestId,
    question: text("which one?"),
  })
  const at = `/v1/sessions/${started.sessionId}/questions`
  const open = (await client.get(at)).body.questions
  expect(open).toMatchObject([{ turnId: started.turnId, question: text("which one?") }])
  const answer = { answer: text("that one"), idempotencyKey: freshKey() }
  const answered = await client.post(`${at}/${open[0].id}/answer`, answer)
  expect(answered.body).toEqual({ questionId: open[0].id, status: "answered" })
  expect(supervisor.pull()).toMatchObject([
    { type: "answer", requestId, result: { ok: true, value: { answer: text("that one") } } },
  ])
  expect((await client.post(`${at}/${open[0].id}/answer`, answer)).text).toBe(answered.text)
  const late = await client.post(`${at}/${open[0].id}/answer`, { ...answer, idempotencyKey: freshKey() })
  expect([late.status, code(late)]).toEqual([404, "not_found"])
  expect((await client.get(at)).body.questions).toEqual([])
})

test("an answer that is given while no supervisor hears it comes through when one attaches again, once", async () => {
  const started = await rig.start(client)
  const supervisor = rig.run(started)
  supervisor.emit({
    type: "question",
    sessionId: started.sessionId,
    generation: supervisor.generation(started.sessionId),
    turnId: started.turnId,
    requestId: rig.ports.newId("req"),
    question: text("still there?"),
  })
  const at = `/v1/sessions/${started.sessionId}/questions`
  const [open] = (await client.get(at)).body.questions
  rig.receiver.detach(supervisor.computerId, supervisor.epoch())
  await client.post(`${at}/${open.id}/answer`, { answer: text("yes"), idempotencyKey: freshKey() })
  const processes = [
    {
      sessionId: started.sessionId,
      generation: supervisor.generation(started.sessionId),
      state: "running" as const,
      turnId: started.turnId,
    },
  ]
  supervisor.attach(processes)
  // The link is lost once more before the command is read.
  supervisor.attach(processes)
  expect(supervisor.pull()).toMatchObject([
    { type: "answer", result: { ok: true, value: { questionId: open.id, answer: text("yes") } } },
  ])
  supervisor.attach(processes)
  expect(supervisor.pull()).toEqual([])
})
