import { McpServer, StreamableHttpTransport } from "mcp-lite"
import { z } from "zod"
import { announce, toolResult, workloadTools } from "../workload.ts"

const mcp = new McpServer({
  name: "lite",
  version: "1.0.0",
  schemaAdapter: (schema) => z.toJSONSchema(schema as z.ZodType),
})
for (const { name, description, schema } of workloadTools)
  mcp.tool(name, { description, inputSchema: schema, handler: () => toolResult })

const handle = new StreamableHttpTransport().bind(mcp)
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  fetch: (request) => handle(request),
})
announce(server.port ?? 0)
