/** The floor: `Bun.serve`, the body, and the zod parse of message and arguments. No check of any header, no JSON-RPC rules. */
import { z } from "zod"
import { announce, toolResult, workloadTools } from "../workload.ts"

const Message = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number()]),
  method: z.string(),
  params: z.object({ name: z.string().optional(), arguments: z.record(z.string(), z.unknown()).optional() }),
})
const tools = new Map(workloadTools.map((tool) => [tool.name as string, tool.schema]))
const headers = { "Content-Type": "application/json" }

const list = {
  tools: workloadTools.map(({ name, description, schema }) => ({
    name,
    description,
    inputSchema: z.toJSONSchema(schema),
  })),
}
const initialized = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "raw", version: "1.0.0" },
}

const result = async (method: string, params: z.infer<typeof Message>["params"]): Promise<unknown> => {
  if (method === "tools/list") return list
  if (method === "initialize") return initialized
  tools.get(params.name ?? "")?.parse(params.arguments ?? {})
  return toolResult
}

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  fetch: async (request) => {
    const { id, method, params } = Message.parse(JSON.parse(await request.text()))
    return new Response(JSON.stringify({ jsonrpc: "2.0", id, result: await result(method, params) }), {
      headers,
    })
  },
})
announce(server.port ?? 0)
