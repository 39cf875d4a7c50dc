import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { freshKey, text } from "../rig.ts"
import { type ApiClient, type ApiRig, createRig } from "./rig.ts"
import { connect } from "./stream.ts"

setDefaultTimeout(30_000)

let rig: ApiRig
let client: ApiClient
beforeEach(async () => {
  rig = await createRig()
  client = rig.client()
  rig.publish(["lead"])
})
afterEach(() => rig.close())

const code = (answer: { readonly body: { readonly error?: { readonly code: string } } }) =>
  answer.body.error?.code

test("a key is text of its own form; its secret is nowhere in the state and in no journal", async () => {
  expect(client.key).toMatch(/^hlm_[0-9a-f]{32}_[0-9a-f]{64}$/)
  await client.get("/v1/sessions")
  await rig.restart()
  const secret = client.key.slice(client.key.lastIndexOf("_") + 1)
  const files = readdirSync(rig.directory, { recursive: true, withFileTypes: true })
  const texts = files
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
  expect(texts.length).toBeGreaterThan(0)
  expect(texts.some((content) => content.includes(secret))).toBe(false)
  expect(JSON.stringify(rig.journal)).not.toContain(secret)
  expect(JSON.stringify(rig.receiver.keys.list())).not.toContain(secret)
})

test("keys, their last use and their revocation outlive a restart", async () => {
  const unused = rig.client(["sessions:read"])
  await client.get("/v1/sessions")
  rig.receiver.keys.revoke(unused.keyId)
  await rig.restart()
  const [first, second] = rig.receiver.keys.list()
  expect(first).toMatchObject({ id: client.keyId, revokedAt: null })
  expect(first?.lastUsedAt).toEqual(expect.any(String))
  expect(second).toMatchObject({ id: unused.keyId, lastUsedAt: null, permissions: ["sessions:read"] })
  expect(second?.revokedAt).toEqual(expect.any(String))
  expect((await client.get("/v1/sessions")).status).toBe(200)
  expect((await unused.get("/v1/sessions")).status).toBe(401)
})

test("R238 a revoked key is refused its next read and its next input", async () => {
  const { sessionId } = await rig.start(client)
  rig.receiver.keys.revoke(client.keyId)
  for (const answer of [
    await client.get(`/v1/sessions/${sessionId}`),
    await client.post(`/v1/sessions/${sessionId}/enqueue`, { input: text("x"), idempotencyKey: freshKey() }),
    await client.post("/v1/sessions", { agent: "lead", input: text("x"), idempotencyKey: freshKey() }),
  ])
    expect([answer.status, code(answer)]).toEqual([401, "unauthorized"])
})

test("R238 a key that is revoked while its body comes in changes nothing", async () => {
  const body = JSON.stringify({ agent: "lead", input: text("x"), idempotencyKey: freshKey() })
  const { promise: half, resolve: sendRest } = Promise.withResolvers<void>()
  const parts = new ReadableStream<Uint8Array>({
    start: async (controller) => {
      controller.enqueue(new TextEncoder().encode(body.slice(0, 10)))
      await half
      controller.enqueue(new TextEncoder().encode(body.slice(10)))
      controller.close()
    },
  })
  const asked = fetch(`${rig.url}/v1/sessions`, {
    method: "POST",
    headers: { Authorization: `Bearer ${client.key}` },
    body: parts,
  })
  // Its key has been used, so the request is past its door.
  while (rig.receiver.keys.list()[0]?.lastUsedAt === null) await Bun.sleep(1)
  rig.receiver.keys.revoke(client.keyId)
  sendRest()
  expect((await asked).status).toBe(401)
  expect(rig.receiver.snapshot().sessions).toEqual([])
})

test("R239 R245 revoking the key that started work stops nothing of it, but ends its open stream and wait", async () => {
  const starter = rig.client()
  const started = await rig.start(starter)
  const supervisor = rig.run(started)
  const path = `/v1/sessions/${started.sessionId}/events/stream`
  const [theirs, ours] = [await connect(starter, rig.url, path), await connect(client, rig.url, path)]
  await theirs.until((seen) => seen.some(({ type }) => type === "turn_started"))
  const wait = `/v1/sessions/${started.sessionId}/turns/${started.turnId}/wait?timeoutMs=60000`
  const waiting = starter.get(wait)
  const ourWait = client.get(wait)
  await Bun.sleep(50)

  rig.receiver.keys.revoke(starter.keyId)
  await theirs.over
  const waited = await waiting
  expect([waited.status, code(waited)]).toEqual([401, "unauthorized"])
  const again = await connect(starter, rig.url, path, theirs.seen)
  expect(again.status).toBe(401)

  supervisor.settle(started.sessionId, started.turnId, "done")
  await ours.until((seen) => seen.some(({ type }) => type === "turn_settled"))
  expect((await ourWait).body).toEqual({
    status: "settled",
    outcome: { status: "completed", result: "done" },
  })
  expect(theirs.seen.some(({ type }) => type === "turn_settled")).toBe(false)
  ours.cut()
  await ours.over
})
