import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { type Listener, openListener, token } from "./listener.ts"
import { openRaw, ping, type RawRequest, type RawResponse, requestBytes, rpc, skillsCall } from "./raw.ts"

let listener: Listener
beforeAll(() => {
  listener = openListener()
})
afterAll(() => listener.endpoint.close("exited"))

/** What the HTTP parser itself refuses has no body; what it cannot even read ends the connection. */
type Expected = number | "closed" | readonly (number | "closed")[]

interface Malformed {
  readonly title: string
  readonly bytes: (port: number) => string | Uint8Array
  readonly expected: Expected
  /** The sending side ends after the bytes. */
  readonly finish?: boolean
}

const request = (title: string, changed: RawRequest, expected: Expected): Malformed => ({
  title,
  bytes: (port) => requestBytes(port, token, { body: ping, ...changed }),
  expected,
})

const head = (port: number, lines: readonly string[], method = "POST /mcp HTTP/1.1"): string =>
  `${[method, `Host: 127.0.0.1:${port}`, `Authorization: ${token}`, "Content-Type: application/json", ...lines].join("\r\n")}\r\n\r\n`

const own = (port: number) => `127.0.0.1:${port}`

const cases: readonly Malformed[] = [
  // Host
  {
    title: "two Host headers, ours first",
    bytes: (port) => requestBytes(port, token, { body: ping, headers: { Host: [own(port), "evil.test"] } }),
    expected: 403,
  },
  {
    title: "two Host headers, ours last",
    bytes: (port) => requestBytes(port, token, { body: ping, headers: { Host: ["evil.test", own(port)] } }),
    expected: 403,
  },
  {
    title: "two equal Host headers",
    bytes: (port) => requestBytes(port, token, { body: ping, headers: { Host: [own(port), own(port)] } }),
    expected: 403,
  },
  {
    title: "Host with user information",
    bytes: (port) => requestBytes(port, token, { body: ping, headers: { Host: `a@${own(port)}` } }),
    expected: 403,
  },
  {
    title: "Host with another port",
    bytes: (port) => requestBytes(port, token, { body: ping, headers: { Host: `127.0.0.1:${port + 1}` } }),
    expected: 403,
  },
  {
    title: "Host without a port",
    bytes: (port) => requestBytes(port, token, { body: ping, headers: { Host: "127.0.0.1" } }),
    expected: 403,
  },
  {
    title: "Host in capitals",
    bytes: (port) => requestBytes(port, token, { body: ping, headers: { Host: `LOCALHOST:${port}` } }),
    expected: 403,
  },
  request("no Host", { headers: { Host: undefined } }, 400),
  request("an empty Host", { headers: { Host: "" } }, [400, 403]),
  // Origin
  request("Origin null", { headers: { Origin: "null" } }, 403),
  {
    title: "two Origins, one ours",
    bytes: (port) =>
      requestBytes(port, token, {
        body: ping,
        headers: { Origin: [`http://${own(port)}`, "http://evil.test"] },
      }),
    expected: 403,
  },
  {
    title: "our Origin over https",
    bytes: (port) => requestBytes(port, token, { body: ping, headers: { Origin: `https://${own(port)}` } }),
    expected: 403,
  },
  {
    title: "our Origin with a path",
    bytes: (port) => requestBytes(port, token, { body: ping, headers: { Origin: `http://${own(port)}/` } }),
    expected: 403,
  },
  // Authorization
  request(
    "R56 no Authorization, to read the skill",
    { headers: { Authorization: undefined }, body: skillsCall() },
    401,
  ),
  request("two Authorization headers, both ours", { headers: { Authorization: [token, token] } }, 401),
  request("another scheme", { headers: { Authorization: token.replace("Bearer", "Basic") } }, 401),
  request(
    "the scheme in small letters",
    { headers: { Authorization: token.replace("Bearer", "bearer") } },
    401,
  ),
  request("a prefix of the token", { headers: { Authorization: token.slice(0, -1) } }, 401),
  request("the token and more", { headers: { Authorization: `${token}x` } }, 401),
  request("an empty Authorization", { headers: { Authorization: "" } }, 401),
  // Path and method
  request("R6 the path /", { path: "/" }, 404),
  request("R6 the path /mcp/", { path: "/mcp/" }, 404),
  request("R6 the path /mcp/x", { path: "/mcp/x" }, 404),
  request("the path /MCP", { path: "/MCP" }, 404),
  request("a path with a query", { path: "/mcp?x=1" }, 404),
  request("an encoded path", { path: "/%6dcp" }, 404),
  {
    title: "a foreign Host behind an absolute target of ours",
    bytes: (port) =>
      requestBytes(port, token, {
        body: ping,
        path: `http://${own(port)}/mcp`,
        headers: { Host: "evil.test" },
      }),
    expected: 403,
  },
  request("two slashes", { path: "//mcp" }, [403, 404]),
  request("DELETE", { method: "DELETE" }, 405),
  request("PUT", { method: "PUT" }, 405),
  request("OPTIONS", { method: "OPTIONS" }, 405),
  request("PATCH", { method: "PATCH" }, 405),
  // Length and transfer
  {
    title: "Content-Length that is no number",
    bytes: (port) => `${head(port, ["Content-Length: abc"])}${ping}`,
    expected: 400,
  },
  {
    title: "a negative Content-Length",
    bytes: (port) => `${head(port, ["Content-Length: -1"])}${ping}`,
    expected: 400,
  },
  {
    title: "a Content-Length beyond 64 bits",
    bytes: (port) => head(port, ["Content-Length: 99999999999999999999999"]),
    expected: 400,
  },
  {
    title: "a Content-Length of a petabyte",
    bytes: (port) => head(port, ["Content-Length: 1000000000000000"]),
    expected: 413,
  },
  {
    title: "a Content-Length above 2^53",
    bytes: (port) => head(port, ["Content-Length: 9007199254740993"]),
    expected: 413,
  },
  {
    title: "two Content-Lengths that differ",
    bytes: (port) => `${head(port, ["Content-Length: 5", "Content-Length: 50"])}${ping}`,
    expected: 400,
  },
  {
    title: "Content-Length beside Transfer-Encoding",
    bytes: (port) => `${head(port, ["Content-Length: 5", "Transfer-Encoding: chunked"])}0\r\n\r\n`,
    expected: 400,
  },
  {
    title: "an unknown Transfer-Encoding",
    bytes: (port) => head(port, ["Transfer-Encoding: gzip"]),
    expected: [400, "closed"],
  },
  {
    title: "a chunk size that is no number",
    bytes: (port) => `${head(port, ["Transfer-Encoding: chunked"])}ZZ\r\nabc\r\n`,
    expected: [400, "closed"],
  },
  { title: "no body and no length", bytes: (port) => head(port, []), expected: 400 },
  {
    title: "a peer that ends in the middle of the body",
    bytes: (port) => `${head(port, ["Content-Length: 100"])}{`,
    expected: [400, "closed"],
    finish: true,
  },
  {
    title: "a peer that ends in the middle of a header",
    bytes: () => "POST /mcp HTTP/1.1\r\nHost: 127",
    expected: [400, "closed"],
    finish: true,
  },
  request("a header of 40 KB", { headers: { "X-Long": "a".repeat(40_000) } }, 431),
  {
    title: "bytes that are not HTTP",
    bytes: () => Uint8Array.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x0d, 0x0a, 0x0d, 0x0a]),
    expected: [400, "closed"],
  },
  {
    title: "a method that no HTTP has",
    bytes: (port) => head(port, ["Content-Length: 0"], "get /mcp HTTP/1.1"),
    expected: [400, 405, "closed"],
  },
  {
    title: "another HTTP version",
    bytes: (port) => head(port, ["Content-Length: 0"], "POST /mcp HTTP/3.9"),
    expected: [400, 505, "closed"],
  },
  // Media types
  request("no Content-Type", { headers: { "Content-Type": undefined } }, 415),
  request(
    "two Content-Types",
    { headers: { "Content-Type": ["application/json", "application/json"] } },
    415,
  ),
  request(
    "JSON in another charset",
    { headers: { "Content-Type": "application/json; charset=utf-16" } },
    415,
  ),
  request("a form", { headers: { "Content-Type": "application/x-www-form-urlencoded" } }, 415),
  request("gzip", { headers: { "Content-Encoding": "gzip" } }, 415),
  request("an Accept without JSON", { headers: { Accept: "text/event-stream" } }, 406),
  request(
    "an Accept that weighs JSON as nothing",
    { headers: { Accept: "application/json;q=0, text/html" } },
    406,
  ),
  request("an Accept of nothing, in three decimals", { headers: { Accept: "*/*; q=0.000" } }, 406),
  request("an Accept of a longer name", { headers: { Accept: "application/jsonx" } }, 406),
  // Text
  request("an empty body", { body: "" }, 400),
  request("whitespace", { body: "  \n" }, 400),
  request("half a JSON value", { body: ping.slice(0, -1) }, 400),
  request("JSON and more", { body: `${ping}x` }, 400),
  request("a JSON string", { body: '"ping"' }, 400),
  request("null", { body: "null" }, 400),
  request(
    "invalid UTF-8 inside a string",
    {
      body: Uint8Array.from([
        ...Buffer.from('{"jsonrpc":"2.0","id":"'),
        0xc3,
        0x28,
        ...Buffer.from('","method":"ping"}'),
      ]),
    },
    400,
  ),
  request("UTF-16", { body: Buffer.from(ping, "utf16le") }, 400),
  request("brackets, 100,000 deep", { body: `${"[".repeat(100_000)}${"]".repeat(100_000)}` }, 400),
  request(
    "objects, 50,000 deep",
    {
      body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}}}`,
    },
    [200, 400],
  ),
  // Messages
  request("a batch of one", { body: `[${ping}]` }, 400),
  request("an empty batch", { body: "[]" }, 400),
  request("a batch of a hundred calls", { body: `[${Array(100).fill(skillsCall()).join(",")}]` }, 400),
  request("JSON-RPC 1.0", { body: '{"id":1,"method":"ping"}' }, 400),
  request("id null", { body: '{"jsonrpc":"2.0","id":null,"method":"ping"}' }, 400),
  request("id of an object", { body: '{"jsonrpc":"2.0","id":{},"method":"ping"}' }, 400),
  request(
    "id beyond what a number holds",
    { body: '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}' },
    400,
  ),
  request("a method that is a number", { body: '{"jsonrpc":"2.0","id":1,"method":1}' }, 400),
  request("params of an array", { body: '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}' }, 400),
  request("params of a string", { body: '{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}' }, 400),
  request(
    "a prototype in the message",
    { body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"__proto__":{"name":"skills"}}}' },
    200,
  ),
  request("a tool named like a property", { body: rpc("tools/call", { name: "__proto__" }) }, 200),
  request("arguments of a string", { body: rpc("tools/call", { name: "skills", arguments: "x" }) }, 200),
  request("arguments of an array", { body: rpc("tools/call", { name: "skills", arguments: [1] }) }, 200),
  // Versions
  request("two version headers", { headers: { "MCP-Protocol-Version": ["2025-11-25", "2025-11-25"] } }, 400),
  request("a version that never was", { headers: { "MCP-Protocol-Version": "2025-11-26" } }, 400),
]

/** Nothing of ours shows in an answer: no source, no stack, no path, no token. */
const leaks = /\.ts\b|\bat .*:\d+|node_modules|test-token|Error:/
const sourceFolder = new URL("../../..", import.meta.url).pathname

const exchange = async ({ bytes, finish }: Malformed): Promise<RawResponse | "closed"> => {
  const { port } = listener.endpoint
  const connection = await openRaw(port)
  try {
    connection.send(bytes(port))
    if (finish === true) connection.finish()
    const response = await connection.response()
    expect(connection.received()).not.toMatch(leaks)
    expect(connection.received()).not.toContain(sourceFolder)
    return response
  } finally {
    connection.destroy()
  }
}

describe("what stock clients do not send", () => {
  for (const malformed of cases) {
    test(malformed.title, async () => {
      const response = await exchange(malformed)
      const { expected } = malformed
      const allowed = typeof expected === "object" ? expected : [expected]
      expect(allowed).toContain(response === "closed" ? response : response.status)

      const after = await openRaw(listener.endpoint.port)
      after.send(requestBytes(listener.endpoint.port, token, { body: ping }))
      const next = await after.response()
      after.destroy()
      expect(next === "closed" ? next : next.body).toBe('{"jsonrpc":"2.0","id":1,"result":{}}')
      expect([listener.endpoint.stats().open, listener.faults]).toEqual([0, []])
    })
  }

  test("there are more than twenty classes of them", () => {
    expect(cases.length).toBeGreaterThan(20)
    expect(new Set(cases.map(({ title }) => title)).size).toBe(cases.length)
  })
})

describe("what is unusual and right", () => {
  const fine: readonly (readonly [title: string, request: (port: number) => RawRequest])[] = [
    ["a dot segment before the path", () => ({ path: "/./mcp" })],
    ["an absolute target, whose authority is not looked at", () => ({ path: "http://evil.test/mcp" })],
    ["localhost as Host", (port) => ({ headers: { Host: `localhost:${port}` } })],
    ["our own Origin", (port) => ({ headers: { Origin: `http://${own(port)}` } })],
    ["our own Origin by the other name", (port) => ({ headers: { Origin: `http://localhost:${port}` } })],
    [
      "a charset of UTF-8, quoted and in capitals",
      () => ({ headers: { "Content-Type": 'Application/JSON; charset="UTF-8"' } }),
    ],
    ["no Accept", () => ({ headers: { Accept: undefined } })],
    ["an Accept of anything", () => ({ headers: { Accept: "text/html, */*;q=0.1" } })],
    ["an Accept of little", () => ({ headers: { Accept: "text/html;q=0, application/json;q=0.001" } })],
    ["Content-Encoding identity", () => ({ headers: { "Content-Encoding": "identity" } })],
    ["headers that nobody knows", () => ({ headers: { "X-Whatever": "1", Cookie: "a=b" } })],
    ["Expect: 100-continue", () => ({ headers: { Expect: "100-continue" } })],
  ]
  for (const [title, change] of fine) {
    test(title, async () => {
      const { port } = listener.endpoint
      const connection = await openRaw(port)
      connection.send(requestBytes(port, token, { body: ping, ...change(port) }))
      const response = await connection.response()
      connection.destroy()
      expect(response === "closed" ? response : response.status).toBe(200)
    })
  }
})

describe("R92 R93 skill names", () => {
  for (const name of [
    "x",
    "../helmr-runtime",
    "HELMR-RUNTIME",
    "file:///etc/passwd",
    "",
    "helmr-runtime/SKILL.md",
    "helmr-runtime ",
    "https://helmr.dev",
  ]) {
    test(`${JSON.stringify(name)} is unknown`, async () => {
      const { port } = listener.endpoint
      const connection = await openRaw(port)
      connection.send(
        requestBytes(port, token, { body: rpc("tools/call", { name: "skills", arguments: { name } }) }),
      )
      const response = await connection.response()
      connection.destroy()
      if (response === "closed") throw new Error("closed")
      const { result } = JSON.parse(response.body)
      expect(result.isError).toBe(true)
      expect(result.content[0].text).toMatch(/^unknown_skill: /)
    })
  }
})
