import { afterEach, describe, expect, test } from "bun:test"
import { ToolName } from "@computerd/protocol/tools"
import { oldVersions } from "@computerd/runtime-mcp/endpoint/versions"
import { nothing } from "@computerd/runtime-mcp/policy/scope"
import { servedTools } from "@computerd/runtime-mcp/tools/catalogue"
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/sdk/types.js"
import { type Answer, type Listener, openListener, token } from "./listener.ts"

/** What the tests need of a client, whichever package it comes from. */
interface StockClient {
  readonly instructions: () => string | undefined
  readonly serverName: () => string | undefined
  readonly list: () => Promise<
    readonly { readonly name: string; readonly description?: string | undefined }[]
  >
  readonly call: (name: string, args: Record<string, unknown>) => Promise<{ text: string; isError: boolean }>
  readonly era: string
  readonly close: () => Promise<void>
}

const read = (result: Readonly<Record<string, unknown>>): { text: string; isError: boolean } => {
  const { content: items, isError } = result
  const content = items as readonly { readonly type: string; readonly text: string }[]
  expect(content).toHaveLength(1)
  expect(content[0]!.type).toBe("text")
  return { text: content[0]!.text, isError: isError === true }
}

const v1 = async (url: string, headers: Record<string, string>): Promise<StockClient> => {
  const client = new Client({ name: "test", version: "1.0.0" })
  // The package's own types are looser than exactOptionalPropertyTypes allows; the object is a Transport.
  const transport: unknown = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
  await client.connect(transport as Parameters<typeof client.connect>[0])
  return {
    instructions: () => client.getInstructions(),
    serverName: () => client.getServerVersion()?.name,
    list: async () => (await client.listTools()).tools,
    call: async (name, args) => read(await client.callTool({ name, arguments: args })),
    era: "2025",
    close: () => client.close(),
  }
}

const v2 =
  (mode: "legacy" | "auto" | { pin: string }) =>
  async (url: string, headers: Record<string, string>): Promise<StockClient> => {
    const client = new ClientV2({ name: "test", version: "1.0.0" }, { versionNegotiation: { mode } })
    await client.connect(new TransportV2(new URL(url), { requestInit: { headers } }))
    return {
      instructions: () => client.getInstructions(),
      serverName: () => client.getServerVersion()?.name,
      list: async () => (await client.listTools()).tools,
      call: async (name, args) => read(await client.callTool({ name, arguments: args })),
      era: client.getNegotiatedProtocolVersion() ?? "",
      close: () => client.close(),
    }
  }

let listener: Listener | undefined
let client: StockClient | undefined
afterEach(async () => {
  await client?.close()
  client = undefined
  await listener?.endpoint.close("exited")
})

const kinds = [
  ["@modelcontextprotocol/sdk", v1, "2025"],
  ["@modelcontextprotocol/client, legacy", v2("legacy"), "2025-11-25"],
  ["@modelcontextprotocol/client, auto", v2("auto"), "2026-07-28"],
  ["@modelcontextprotocol/client, pinned", v2({ pin: "2026-07-28" }), "2026-07-28"],
] as const

const key = { agent: "auditor", input: [{ type: "text", text: "hello" }], idempotencyKey: "k" }

for (const [name, connect, era] of kinds) {
  describe(name, () => {
    const open = async (answer?: Answer): Promise<StockClient> => {
      listener = openListener(answer)
      client = await connect(listener.endpoint.url, { Authorization: token })
      return client
    }

    test("R27 R30 R33 R47 connects, knows the server by its name and is led to the skill", async () => {
      const connected = await open()
      expect(connected.era).toBe(era)
      expect(connected.serverName()).toBe("helmr-runtime")
      expect(connected.instructions()).toContain('skills({ "name": "helmr-runtime" })')
    })

    test("R27 R51 R54 lists what the scope grants, in catalogue order, each tool described", async () => {
      const tools = await (await open()).list()
      expect(tools.map((tool) => tool.name)).toEqual(
        ToolName.options.filter((each) => servedTools.includes(each)),
      )
      expect(tools.every((tool) => (tool.description ?? "").length > 20)).toBe(true)
      expect(tools[0]?.description).toContain('skills({ name: "helmr-runtime" })')
    })

    test("R49 R86 R87 finds the skill and reads it over the same connection", async () => {
      const connected = await open()
      const list = JSON.parse((await connected.call("skills", {})).text)
      expect(Object.keys(list)).toEqual(["skills"])
      expect(list.skills.map((entry: object) => Object.keys(entry))).toEqual([["name", "description"]])
      const skill = JSON.parse((await connected.call("skills", { name: list.skills[0].name })).text)
      expect(Object.keys(skill)).toEqual(["name", "description", "content"])
      expect(skill.content.startsWith("---\nname: helmr-runtime\n")).toBe(true)
    })

    test("R45 a success is one text item that holds a JSON object", async () => {
      const connected = await open(() => ({
        ok: true,
        value: { sessionId: "s", nested: { list: [1, null] } },
      }))
      const { text, isError } = await connected.call("spawn", key)
      expect([JSON.parse(text), isError]).toEqual([{ sessionId: "s", nested: { list: [1, null] } }, false])
    })

    test("R2 R46 a failure is an error result whose text is code: message", async () => {
      const refuse: Answer = () => ({ ok: false, error: { code: "root_session_required", message: "no" } })
      const connected = await open(refuse)
      expect(await connected.call("spawn", key)).toEqual({ text: "root_session_required: no", isError: true })
      const argument = await connected.call("spawn", { ...key, parentSessionId: "ses_x" })
      expect(argument.text).toMatch(/^invalid_arguments: parentSessionId /)
      expect(listener?.calls).toHaveLength(1)
    })

    test("arguments reach the receiver as they were sent, under the scope of the descriptor", async () => {
      const connected = await open()
      await connected.call("spawn", key)
      const [call] = listener?.calls ?? []
      expect(call?.tool).toBe("spawn")
      expect<unknown>(call?.arguments).toEqual(key)
    })

    test("a call that throws in the supervisor is an answer without its text", async () => {
      const connected = await open(() => {
        throw new Error("planted secret")
      })
      const { text, isError } = await connected.call("spawn", key)
      expect(isError).toBe(true)
      expect(text).toMatch(/^internal: /)
      expect(text).not.toContain("planted")
      expect(listener?.faults).toHaveLength(1)
    })

    test("a tool that is not in the catalogue is a protocol error", async () => {
      const connected = await open()
      await expect(connected.call("no_such_tool", {})).rejects.toThrow(/Unknown tool/)
    })

    test("closing one client leaves the listener to the next", async () => {
      const connected = await open()
      await connected.close()
      const again = await connect(listener?.endpoint.url ?? "", { Authorization: token })
      expect((await again.list()).length).toBe(servedTools.length)
      await again.close()
    })

    test("a dead token fails the connection with text that says what to do", async () => {
      listener = openListener()
      await expect(connect(listener.endpoint.url, { Authorization: "Bearer dead" })).rejects.toThrow(
        /40[13]|authoriz/i,
      )
    })
  })
}

test("R11 R228 with an empty allowlist tools/list is skills alone", async () => {
  listener = openListener(undefined, { scopes: { [token]: nothing } })
  client = await v1(listener.endpoint.url, { Authorization: token })
  expect((await client.list()).map(({ name }) => name)).toEqual(["skills"])
})

test("the revisions of initialize are those that the stock SDK speaks", () => {
  expect<readonly string[]>(oldVersions).toEqual(SUPPORTED_PROTOCOL_VERSIONS)
})
