import { EdgeFastMCP } from "fastmcp/edge"
import { announce, answerText, workloadTools } from "../workload.ts"

const mcp = new EdgeFastMCP({ name: "edge", version: "1.0.0" })
for (const { name, description, schema } of workloadTools)
  mcp.addTool({ name, description, parameters: schema, execute: async () => answerText })

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  fetch: (request) => mcp.fetch(request),
})
announce(server.port ?? 0)
