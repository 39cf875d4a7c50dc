import { Elysia } from "elysia"
import { mcp } from "elysia-mcp"
import { announce, toolResult, workloadTools } from "../workload.ts"

const app = new Elysia().use(
  mcp({
    serverInfo: { name: "elysia", version: "1.0.0" },
    capabilities: { tools: {} },
    stateless: true,
    enableJsonResponse: true,
    setupServer: async (server) => {
      for (const { name, description, shape } of workloadTools)
        server.registerTool(name, { description, inputSchema: shape }, async () => toolResult)
    },
  }),
)
app.listen({ hostname: "127.0.0.1", port: 0 })
announce(app.server?.port ?? 0)
