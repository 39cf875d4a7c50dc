import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { oldVersions } from "@computerd/runtime-mcp/endpoint/versions"
import { type Listener, openListener, token } from "./listener.ts"

let listener: Listener
beforeAll(() => {
  listener = openListener()
})
afterAll(() => listener.endpoint.close("exited"))

interface Answered {
  readonly status: number
  readonly type: string | null
  readonly body: {
    readonly id?: unknown
    readonly result?: Readonly<Record<string, unknown>>
    readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
  }
}

const post = async (message: unknown, headers: Record<string, string> = {}): Promise<Answered> => {
  const response = await fetch(listener.endpoint.url, {
    method: "POST",
    headers: { Authorization: token, "Content-Type": "application/json", ...headers },
    body: JSON.stringify(message),
  })
  const text = await response.text()
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    body: text === "" ? {} : JSON.parse(text),
  }
}

const request = (method: string, params: object = {}) => ({ jsonrpc: "2.0", id: 5, method, params })
const client = { name: "test", version: "1" }

describe("clients of 2025-11-25 and earlier", () => {
  const initialize = (protocolVersion: string) =>
    request("initialize", { protocolVersion, capabilities: {}, clientInfo: client })

  for (const version of oldVersions) {
    test(`R33 initialize at ${version} is answered at ${version}`, async () => {
      const { status, type, body } = await post(initialize(version))
      expect([status, type]).toEqual([200, "application/json"])
      expect(Object.keys(body.result ?? {}).sort()).toEqual([
        "capabilities",
        "instructions",
        "protocolVersion",
        "serverInfo",
      ])
      expect(body.result).toMatchObject({ protocolVersion: version, capabilities: { tools: {} } })
    })
  }

  test("an unknown revision, the stateless one too, is answered with the newest that initialize serves", async () => {
    for (const version of ["2099-01-01", "2026-07-28", ""])
      expect((await post(initialize(version))).body.result).toMatchObject({ protocolVersion: "2025-11-25" })
  })

  test("initialize may carry any version header and a method header", async () => {
    const headers = { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "initialize" }
    expect((await post(initialize("2025-11-25"), headers)).status).toBe(200)
    expect((await post(initialize("2025-11-25"), { "MCP-Protocol-Version": "nonsense" })).status).toBe(200)
  })

  test("other messages need a header that names a served revision, or none", async () => {
    for (const version of oldVersions)
      expect((await post(request("ping"), { "MCP-Protocol-Version": version })).status).toBe(200)
    expect<unknown>((await post(request("ping"))).body).toEqual({ jsonrpc: "2.0", id: 5, result: {} })
    for (const version of ["2025-11-24", "2025-11-25, 2025-11-25", "x"]) {
      const { status, body } = await post(request("ping"), { "MCP-Protocol-Version": version })
      expect([status, body.error?.code, body.id]).toEqual([400, -32000, 5])
    }
  })

  test("R31 a session id that is sent is ignored", async () => {
    expect((await post(request("ping"), { "Mcp-Session-Id": "abc" })).status).toBe(200)
  })

  test("notifications and responses are taken in silence, a tools/call without id is not made", async () => {
    const silent = [
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } },
      {
        jsonrpc: "2.0",
        method: "tools/call",
        params: { name: "list_sessions", arguments: { relation: "owned" } },
      },
      { jsonrpc: "2.0", id: 1, result: {} },
      { jsonrpc: "2.0", id: 1, error: { code: 1, message: "" } },
    ]
    for (const message of silent) expect(await post(message)).toEqual({ status: 202, type: null, body: {} })
    expect(listener.calls).toEqual([])
  })

  test("results carry nothing of the newer revision", async () => {
    const { body } = await post(request("tools/call", { name: "skills" }))
    expect(Object.keys(body.result ?? {})).toEqual(["content"])
    expect(Object.keys((await post(request("tools/list"))).body.result ?? {})).toEqual(["tools"])
  })

  test("a probe for the newer revision without its envelope is refused in a way that leads to initialize", async () => {
    const { status, body } = await post(request("server/discover"))
    expect([status, body.error?.code]).toEqual([200, -32601])
  })
})

describe("clients of 2026-07-28", () => {
  const version = "2026-07-28"
  const meta = (claimed = version) => ({
    "io.modelcontextprotocol/protocolVersion": claimed,
    "io.modelcontextprotocol/clientInfo": client,
    "io.modelcontextprotocol/clientCapabilities": {},
  })
  const modern = (method: string, params: object = {}, headers: Record<string, string> = {}) =>
    post(request(method, { ...params, _meta: meta() }), {
      "MCP-Protocol-Version": version,
      "Mcp-Method": method,
      ...headers,
    })
  const serverInfo = {
    "io.modelcontextprotocol/serverInfo": expect.objectContaining({ name: "helmr-runtime" }),
  }

  test("R31 R33 R47 server/discover says what is served and where the guide is", async () => {
    const { status, body } = await modern("server/discover")
    expect(status).toBe(200)
    expect<unknown>(body.result).toEqual({
      resultType: "complete",
      _meta: serverInfo,
      supportedVersions: [version],
      capabilities: { tools: {} },
      instructions: expect.stringContaining("skills"),
      ttlMs: 0,
      cacheScope: "private",
    })
  })

  test("R32 tools/list and tools/call are framed as this revision asks, failures too", async () => {
    const list = await modern("tools/list")
    expect(list.body.result).toMatchObject({ resultType: "complete", ttlMs: 0, cacheScope: "private" })
    const skills = await modern("tools/call", { name: "skills", arguments: {} }, { "Mcp-Name": "skills" })
    expect(skills.body.result).toMatchObject({ resultType: "complete", _meta: serverInfo })
    const failed = await modern(
      "tools/call",
      { name: "wait_turn", arguments: {} },
      { "Mcp-Name": "wait_turn" },
    )
    expect(failed.body.result).toMatchObject({ resultType: "complete", isError: true })
  })

  test("a name may come in base64", async () => {
    const encoded = `=?base64?${Buffer.from("skills").toString("base64")}?=`
    expect((await modern("tools/call", { name: "skills" }, { "Mcp-Name": encoded })).status).toBe(200)
    const other = `=?base64?${Buffer.from("skill").toString("base64")}?=`
    expect((await modern("tools/call", { name: "skills" }, { "Mcp-Name": other })).status).toBe(400)
  })

  test("the envelope is judged before the headers, the headers before the revision", async () => {
    const bare = { "io.modelcontextprotocol/protocolVersion": "2027-01-01" }
    const noCapabilities = await post(request("tools/list", { _meta: bare }))
    expect([noCapabilities.status, noCapabilities.body.error?.code]).toEqual([400, -32602])
    const differ = await post(request("tools/list", { _meta: meta("2027-01-01") }), {
      "MCP-Protocol-Version": version,
    })
    expect([differ.status, differ.body.error?.code]).toEqual([400, -32020])
    const later = await post(request("tools/list", { _meta: meta("2027-01-01") }), {
      "MCP-Protocol-Version": "2027-01-01",
    })
    expect([later.status, later.body.error]).toEqual([
      400,
      { code: -32022, message: expect.any(String), data: { supported: [version], requested: "2027-01-01" } },
    ])
    expect(later.body.id).toBe(5)
  })

  test("the new header without the envelope is refused, except on initialize", async () => {
    const { status, body } = await post(request("tools/list"), { "MCP-Protocol-Version": version })
    expect([status, body.error?.code]).toEqual([400, -32602])
  })

  test("every header of this revision is required and must agree", async () => {
    const call = { name: "skills", arguments: {} }
    const code = async (headers: Record<string, string>) => {
      const { status, body } = await post(request("tools/call", { ...call, _meta: meta() }), headers)
      return [status, body.error?.code]
    }
    const all = { "MCP-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": "skills" }
    expect(await code(all)).toEqual([200, undefined])
    for (const name of Object.keys(all) as (keyof typeof all)[]) {
      const { [name]: _left, ...rest } = all
      expect(await code(rest)).toEqual([400, -32020])
      expect(await code({ ...all, [name]: "other" })).toEqual([400, -32020])
      expect(await code({ ...all, [name]: `${all[name]}, ${all[name]}` })).toEqual([400, -32020])
    }
  })

  test("methods that this revision does not have are 404 with the id", async () => {
    for (const method of [
      "initialize",
      "ping",
      "logging/setLevel",
      "resources/list",
      "prompts/list",
      "subscriptions/listen",
    ]) {
      const { status, body } = await modern(method)
      expect([status, body.error?.code, body.id]).toEqual([404, -32601, 5])
    }
  })

  test("an unknown tool is an error of the protocol, with 200", async () => {
    const { status, body } = await modern("tools/call", { name: "x" }, { "Mcp-Name": "x" })
    expect([status, body.error?.code]).toEqual([200, -32602])
  })
})
