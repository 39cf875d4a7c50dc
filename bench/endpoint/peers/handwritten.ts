/** A minimal hand-written dispatch: bearer, Host, envelope and zod, everything prepared. */
import { z } from "zod"
import { announce, token, toolResult, workloadTools } from "../workload.ts"

const Message = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number()]),
  method: z.string(),
  params: z.object({ name: z.string().optional(), arguments: z.record(z.string(), z.unknown()).optional() }),
})
const tools = new Map(workloadTools.map((tool) => [tool.name as string, tool.schema]))
const headers = { "Content-Type": "application/json" }
const list = JSON.stringify({
  tools: workloadTools.map(({ name, description, schema }) => ({
    name,
    description,
    inputSchema: z.toJSONSchema(schema),
  })),
})
const initialized = JSON.stringify({
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "handwritten", version: "1.0.0" },
})
const called = JSON.stringify(toolResult)

const result = (method: string, params: z.infer<typeof Message>["params"]): string => {
  if (method === "tools/list") return list
  if (method === "initialize") return initialized
  tools.get(params.name ?? "")?.parse(params.arguments ?? {})
  return called
}

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  fetch: async (request, self) => {
    if (request.headers.get("host") !== `127.0.0.1:${self.port}`) return new Response(null, { status: 403 })
    if (request.headers.get("authorization") !== token) return new Response(null, { status: 401 })
    const { id, method, params } = Message.parse(JSON.parse(await request.text()))
    return new Response(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result(method, params)}}`, {
      headers,
    })
  },
})
announce(server.port ?? 0)
