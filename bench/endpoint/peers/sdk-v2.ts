import { createMcpHandler, McpServer } from "@modelcontextprotocol/server"
import { announce, toolResult, workloadTools } from "../workload.ts"

const handler = createMcpHandler(
  () => {
    const server = new McpServer({ name: "v2", version: "1.0.0" })
    for (const { name, description, schema } of workloadTools)
      server.registerTool(name, { description, inputSchema: schema }, async () => toolResult)
    return server
  },
  { legacy: "stateless", responseMode: "json" },
)
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  fetch: (request) => handler.fetch(request),
})
announce(server.port ?? 0)
