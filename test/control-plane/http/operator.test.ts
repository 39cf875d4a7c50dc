import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { ControlPlane } from "@computerd/control-plane/control-plane"
import { type OperatorClient, operatorClient } from "@computerd/control-plane/http/client"
import { statusOf } from "@computerd/control-plane/http/status"
import { ErrorCode } from "@computerd/protocol/errors"
import { SessionId, TurnId } from "@computerd/protocol/ids"
import { createRig, programs, type Rig } from "../drivers/rig.ts"
import { text } from "../rig.ts"

setDefaultTimeout(40_000)

let rig: Rig
let plane: ControlPlane
let client: OperatorClient
beforeAll(async () => {
  rig = await createRig()
  plane = await rig.open()
  client = operatorClient(rig.stateDirectory)
})
afterAll(() => rig.close())

const ask = async (path: string, init: RequestInit = {}) => {
  const response = await fetch(`http://control-plane${path}`, { ...init, unix: plane.operatorSocket })
  return { status: response.status, body: await response.text() }
}
const post = (path: string, body: unknown) =>
  ask(path, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) })
const errorIn = (answer: { body: string }): { code: string; message: string; field?: string } =>
  JSON.parse(answer.body).error

const ids = {
  session: SessionId.parse("ses_01900000-0000-7000-8000-000000000001"),
  turn: TurnId.parse("trn_01900000-0000-7000-8000-000000000001"),
}

test("the socket is for its owner only, and health answers", async () => {
  expect((await stat(plane.operatorSocket)).mode & 0o777).toBe(0o600)
  expect(await ask("/healthz")).toEqual({ status: 200, body: "ok\n" })
})

test("publish, start, wait and look: the whole way through the client", async () => {
  const published = await client.publish({ directory: join(programs, "echo") })
  expect(published).toMatchObject({
    ok: true,
    value: { notices: ["cpu and memory of Templates are not limits here"] },
  })
  const call = { agent: "echo", input: text("through the socket"), idempotencyKey: "once" }
  const started = await client.startSession(call)
  if (!started.ok) throw new Error(started.error.message)
  const again = await client.startSession(call)
  expect(again).toEqual(started)
  const turn = await client.turn(started.value.sessionId, started.value.turnId, 20_000)
  expect(turn).toMatchObject({
    ok: true,
    value: { status: "completed", response: text("through the socket") },
  })
  const snapshot = await client.snapshot()
  expect(snapshot).toMatchObject({
    ok: true,
    value: { sessions: [{ id: started.value.sessionId }], computers: [{ residency: "running" }] },
  })
  const conflict = await client.startSession({ ...call, input: text("another text") })
  expect(conflict).toMatchObject({ ok: false, error: { code: "idempotency_conflict" } })
})

test("a wait that ends early answers with the Turn as it is", async () => {
  await client.publish({ directory: join(programs, "gate") })
  const file = join(rig.root, "gate")
  const started = await client.startSession({ agent: "gate", input: text(file), idempotencyKey: "gate" })
  if (!started.ok) throw new Error(started.error.message)
  const waited = await client.turn(started.value.sessionId, started.value.turnId, 50)
  expect(waited).toMatchObject({ ok: true, value: { settledAtMs: null } })
  const settled = client.turn(started.value.sessionId, started.value.turnId, 30_000)
  await writeFile(file, "")
  expect(await settled).toMatchObject({ ok: true, value: { status: "completed" } })
})

describe("bad requests", () => {
  const cases: readonly [string, () => ReturnType<typeof ask>, number, string, string | undefined][] = [
    ["a body that is not JSON", () => post("/v1/sessions", "{"), 400, "invalid_arguments", undefined],
    [
      "a missing field",
      () => post("/v1/sessions", { agent: "a", idempotencyKey: "k" }),
      400,
      "invalid_arguments",
      "input",
    ],
    [
      "an unknown field",
      () => post("/v1/sessions", { agent: "a", input: [], idempotencyKey: "k", priority: 1 }),
      400,
      "invalid_arguments",
      "priority",
    ],
    [
      "an Environment with a capital",
      () => post("/v1/sessions", { agent: "a", input: [], idempotencyKey: "k", environment: "Prod" }),
      400,
      "invalid_arguments",
      "environment",
    ],
    [
      "an Agent that is not deployed",
      () => post("/v1/sessions", { agent: "nobody", input: [], idempotencyKey: "k" }),
      404,
      "target_not_published",
      undefined,
    ],
    [
      "a relative directory",
      () => post("/v1/deployments", { directory: "." }),
      400,
      "invalid_arguments",
      "directory",
    ],
    [
      "a directory that does not exist",
      () => post("/v1/deployments", { directory: "/no/such/program" }),
      422,
      "invalid_program",
      undefined,
    ],
    [
      "a bad variable",
      () => post("/v1/deployments", { directory: "/", variables: { "A-B": "1" } }),
      400,
      "invalid_arguments",
      undefined,
    ],
    [
      "an id of another kind",
      () => ask(`/v1/turns/${ids.turn}/${ids.turn}`),
      400,
      "invalid_arguments",
      "sessionId",
    ],
    [
      "a wait beyond the limit",
      () => ask(`/v1/turns/${ids.session}/${ids.turn}?waitMs=600000`),
      400,
      "invalid_arguments",
      "waitMs",
    ],
    [
      "a wait that is no number",
      () => ask(`/v1/turns/${ids.session}/${ids.turn}?waitMs=soon`),
      400,
      "invalid_arguments",
      "waitMs",
    ],
    [
      "a Turn that does not exist",
      () => ask(`/v1/turns/${ids.session}/${ids.turn}?waitMs=1000`),
      404,
      "not_found",
      undefined,
    ],
    ["a path that does not exist", () => ask("/v1/nothing"), 404, "not_found", undefined],
  ]
  for (const [what, request, status, code, field] of cases)
    test(`${what} is answered ${status} ${code}`, async () => {
      const answer = await request()
      const error = errorIn(answer)
      expect([answer.status, error.code]).toEqual([status, code])
      if (field !== undefined) expect(error.field).toBe(field)
      expect(error.message.length).toBeGreaterThan(5)
    })

  test("a body above the limit is refused and the server goes on", async () => {
    const answer = await post("/v1/sessions", JSON.stringify({ agent: "x".repeat(2 * 1024 * 1024) })).catch(
      () => ({ status: 413 }),
    )
    expect(answer.status).toBe(413)
    expect((await ask("/healthz")).status).toBe(200)
  })
})

test("every error code has an HTTP status, and what may pass later is told as such", () => {
  for (const code of ErrorCode.options) expect([code, statusOf(code)]).toEqual([code, expect.any(Number)])
  expect([statusOf("admission_unavailable"), statusOf("store_unavailable")]).toEqual([503, 503])
})

test("a client without a control plane says where it looked", async () => {
  const lost = await operatorClient(rig.root).snapshot()
  expect(lost).toMatchObject({ ok: false, error: { code: "not_found" } })
  expect(lost.ok ? "" : lost.error.message).toContain(rig.root)
})

test("a state directory deeper than a socket address may be is served all the same", async () => {
  const deep = join(rig.root, ...Array.from({ length: 5 }, () => "d".repeat(40)))
  const other = await rig.open({ stateDirectory: deep })
  expect(await operatorClient(deep).snapshot()).toMatchObject({ ok: true, value: { sessions: [] } })
  expect(await other.close()).toEqual([])
  expect(await stat(other.operatorSocket).catch(() => "gone")).toBe("gone")
})
