import { afterEach, expect, setDefaultTimeout, test } from "bun:test"
import { createLimiter } from "@computerd/control-plane/api/limiter"
import { type ApiSettings, defaultApiSettings } from "@computerd/control-plane/api/settings"
import { freshKey, text } from "../rig.ts"
import { type ApiRig, answerOf, createRig } from "./rig.ts"
import { connect } from "./stream.ts"

setDefaultTimeout(30_000)

let rig: ApiRig | undefined
const rigWith = async (settings: Partial<ApiSettings> = {}): Promise<ApiRig> => {
  rig = await createRig({ settings })
  rig.publish(["lead"])
  return rig
}
afterEach(async () => {
  await rig?.close()
  rig = undefined
})

const refused = (answer: { readonly status: number; readonly body: { error?: { code: string } } }) => [
  answer.status,
  answer.body?.error?.code,
]

test("the usual limits are those that the documentation names", () => {
  expect(defaultApiSettings).toMatchObject({
    bodyMaxBytes: 1_048_576,
    uploadMaxBytes: 67_108_864,
    pageMax: 100,
    waitMaxMs: 60_000,
    requestsPerSecond: 100,
  })
})

test("a body beyond its bound is refused, announced or not", async () => {
  const { client, url } = await rigWith({ bodyMaxBytes: 1_000 })
  const by = client()
  const fits = { agent: "lead", input: text("x".repeat(800)), idempotencyKey: freshKey() }
  expect((await by.post("/v1/sessions", fits)).status).toBe(201)
  const large = { ...fits, input: text("x".repeat(1_000)) }
  expect(refused(await by.post("/v1/sessions", large))).toEqual([413, "request_too_large"])
  const streamed = await fetch(`${url}/v1/sessions`, {
    method: "POST",
    headers: { Authorization: `Bearer ${by.key}` },
    body: new Blob([JSON.stringify(large)]).stream(),
  })
  expect(streamed.status).toBe(413)
  const garbage = await fetch(`${url}/v1/sessions`, {
    method: "POST",
    headers: { Authorization: `Bearer ${by.key}` },
    body: "{",
  })
  expect(refused(await answerOf(garbage))).toEqual([400, "invalid_arguments"])
})

test("a page is as long as the installation allows; more than 100 is never asked for", async () => {
  const { client, start } = await rigWith({ pageMax: 2 })
  const by = client()
  for (let count = 0; count < 5; count += 1) await start(by)
  const seen: string[] = []
  for (let after = ""; ; ) {
    const { body } = await by.get(`/v1/sessions?limit=50${after}`)
    expect(body.sessions.length).toBeLessThanOrEqual(2)
    seen.push(...body.sessions.map(({ id }: { id: string }) => id))
    if (body.nextCursor === undefined) break
    after = `&cursor=${encodeURIComponent(body.nextCursor)}`
  }
  expect(seen).toHaveLength(5)
  expect(seen).toEqual(seen.toSorted().toReversed())
  for (const limit of ["0", "101", "1.5", "x", ""]) {
    const answer = await by.get(`/v1/sessions?limit=${limit}`)
    expect([...refused(answer), answer.body.error.field]).toEqual([400, "invalid_arguments", "limit"])
  }
})

test("a cursor continues its own list with its own filters alone", async () => {
  const { client, start } = await rigWith()
  const by = client()
  for (let count = 0; count < 3; count += 1) await start(by)
  const { nextCursor } = (await by.get("/v1/sessions?limit=1&agent=lead")).body
  const at = encodeURIComponent(nextCursor)
  expect((await by.get(`/v1/sessions?limit=1&agent=lead&cursor=${at}`)).body.sessions).toHaveLength(1)
  for (const path of [`/v1/sessions?cursor=${at}`, `/v1/computers?cursor=${at}`]) {
    const answer = await by.get(path)
    expect([...refused(answer), answer.body.error.field]).toEqual([400, "invalid_arguments", "cursor"])
  }
})

test("a wait is as long as the installation allows; more than 60 s is never asked for", async () => {
  const { client, start } = await rigWith({ waitMaxMs: 50 })
  const by = client()
  const { sessionId, turnId } = await start(by)
  const wait = (timeoutMs: string) =>
    by.get(`/v1/sessions/${sessionId}/turns/${turnId}/wait?timeoutMs=${timeoutMs}`)
  expect((await wait("60000")).body).toEqual({ status: "timeout" })
  for (const timeoutMs of ["0", "60001", "1.5", ""]) {
    const answer = await wait(timeoutMs)
    expect([...refused(answer), answer.body.error.field]).toEqual([400, "invalid_arguments", "timeoutMs"])
  }
})

test("each key has its own requests a second, and learns when the next one fits", async () => {
  const { client } = await rigWith({ requestsPerSecond: 5 })
  const by = client()
  const answers = []
  for (let count = 0; count < 8; count += 1) answers.push(await by.get("/v1/sessions"))
  const late = answers.filter(({ status }) => status === 429)
  expect(late.length).toBeGreaterThan(0)
  expect(refused(late[0]!)).toEqual([429, "rate_limited"])
  expect(late[0]!.headers.get("retry-after")).toBe("1")
  expect((await client().get("/v1/sessions")).status).toBe(200)
})

test("a bucket holds a second's worth, refills evenly, and is not fooled by a clock that goes back", async () => {
  const { client } = await rigWith()
  const { keyId } = client()
  let now = 1_000
  const limiter = createLimiter(10, () => now)
  const taken = () =>
    Array.from({ length: 20 }, () => limiter.take(keyId)).filter((wait) => wait === 0).length
  expect(taken()).toBe(10)
  expect(limiter.take(keyId)).toBe(100)
  now += 250
  expect(taken()).toBe(2)
  now -= 10_000
  expect(taken()).toBe(0)
  now += 60_000
  expect(taken()).toBe(10)
})

test("streams and waits that a key has open are bounded, and a place comes back when one ends", async () => {
  const { client, start, url } = await rigWith({ openRequestsMax: 2 })
  const by = client()
  const { sessionId, turnId } = await start(by)
  const path = `/v1/sessions/${sessionId}/events/stream`
  const [one, two] = [await connect(by, url, path), await connect(by, url, path)]
  expect(refused(await by.get(path))).toEqual([429, "rate_limited"])
  expect(refused(await by.get(`/v1/sessions/${sessionId}/turns/${turnId}/wait?timeoutMs=10`))).toEqual([
    429,
    "rate_limited",
  ])
  one.cut()
  await one.over
  for (;;) {
    const next = await connect(by, url, path)
    next.cut()
    await next.over
    if (next.status === 200) break
  }
  two.cut()
  await two.over
})

test("a URL and headers beyond their bounds are refused", async () => {
  const { client } = await rigWith({ urlMaxBytes: 500 })
  const by = client()
  expect(refused(await by.get(`/v1/sessions?cursor=${"x".repeat(600)}`))).toEqual([413, "request_too_large"])
  expect((await by.get("/v1/sessions", { "X-Large": "x".repeat(64 * 1024) })).status).toBe(431)
})
