import { afterAll, beforeAll, expect, test } from "bun:test"
import { inspect } from "node:util"
import { HelmrClient } from "@helmr/sdk"
import { apiKey, failureOf, id, json, serve } from "./fake.ts"

/** Answers as the debugging pages of some proxies do: with the request. */
let server: ReturnType<typeof serve>
beforeAll(() => {
  server = serve((request) => {
    const sent = request.headers.get("authorization") ?? ""
    switch (new URL(request.url).pathname) {
      case "/page/v1/sessions":
        // The key stands across the place where a long page is cut.
        return new Response(`${"x".repeat(130)} ${sent} ${"y".repeat(500)}`, { status: 403 })
      case "/envelope/v1/sessions":
        return json({ error: { code: "unauthorized", message: `bad ${sent}`, field: sent } }, 401)
      case "/unknown/v1/sessions":
        return json({ error: { code: "later", message: sent } }, 400)
      case "/odd/v1/sessions":
        return json({ sessions: sent })
      default:
        return json({ id: id("ctl"), sessionId: id("ses"), status: "accepted" })
    }
  })
})
afterAll(() => server.close())

const secret = apiKey.split("_")[2] ?? ""
/** Any eight characters of it would be too much; they repeat, so that a part cannot hide. */
const part = secret.slice(0, 8)

/** Everything that a value shows of itself, and everything that can be reached from it by its properties. */
const shown = (value: unknown): string => {
  const seen = new Set<unknown>()
  const texts: string[] = []
  const visit = (one: unknown): void => {
    if ((typeof one !== "object" && typeof one !== "function") || one === null) {
      texts.push(String(one))
      return
    }
    if (seen.has(one)) return
    seen.add(one)
    for (const name of Reflect.ownKeys(one)) {
      const own = Reflect.getOwnPropertyDescriptor(one, name)
      texts.push(String(name))
      if (own !== undefined && "value" in own) visit(own.value)
    }
    visit(Object.getPrototypeOf(one))
  }
  visit(value)
  const options = { depth: Number.POSITIVE_INFINITY, showHidden: true, getters: true }
  return [
    ...texts,
    String(value),
    JSON.stringify(value),
    Bun.inspect(value, { depth: 20 }),
    inspect(value, options),
    value instanceof Error ? value.stack : "",
  ].join("\n")
}

test("neither the client nor what comes from it shows the key, however it is looked at", async () => {
  const client = new HelmrClient({ baseUrl: server.url, apiKey })
  const session = client.sessions.handle(id("ses"))
  for (const value of [
    client,
    session,
    session.turn(id("trn")),
    session.events.stream(),
    await session.interrupt(),
  ])
    expect(shown(value)).not.toContain(part)
})

test("what looks at everything finds a key that is there", () => {
  expect(shown({ deep: [{ hidden: Object.defineProperty({}, "key", { value: apiKey }) }] })).toContain(part)
})

test.each(["page", "envelope", "unknown", "odd"])(
  "a server that repeats the key (%s) does not make an error tell it",
  async (path) => {
    const client = new HelmrClient({ baseUrl: `${server.url}/${path}`, apiKey })
    const error = await failureOf(client.sessions.list())
    expect(error).toBeInstanceOf(Error)
    expect(shown(error)).not.toContain(part)
  },
)

test("a fetch that repeats its headers does not make an error tell the key", async () => {
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    throw new Error(`cannot fetch ${url} ${JSON.stringify(init.headers)}`)
  }
  const client = new HelmrClient({ baseUrl: "http://h", apiKey, fetch })
  const error = await failureOf(client.sessions.list({ timeoutMs: 200 }))
  expect(shown(error)).toContain("cannot fetch")
  expect(shown(error)).not.toContain(part)
})

test.each([
  ["baseUrl", { baseUrl: "helmr.example.com" }],
  ["baseUrl", { baseUrl: "ftp://h" }],
  ["baseUrl", { baseUrl: "http://user:word@h" }],
  ["baseUrl", { baseUrl: "http://h?x=1" }],
  ["baseUrl", { baseUrl: "http://h#x" }],
  ["apiKey", { apiKey: "" }],
  ["apiKey", { apiKey: `${apiKey}\n` }],
  ["apiKey", { apiKey: `${apiKey} x` }],
  ["apiKey", { apiKey: `${apiKey}é` }],
  ["apiKey", { apiKey: "x".repeat(513) }],
  ["timeoutMs", { timeoutMs: 0 }],
])("a wrong %s is refused when the client is made, and not repeated", async (field, options) => {
  const make = async () => new HelmrClient({ baseUrl: "http://h", apiKey, ...options })
  const error = await failureOf(make())
  expect(error).toMatchObject({ code: "invalid_arguments", field })
  expect(shown(error)).not.toContain(part)
  expect(String(error)).not.toContain("user:word")
})
