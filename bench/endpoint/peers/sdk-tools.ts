/** A new SDK server with the sixteen tools, as the SDK's stateless example makes one for each request. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { toolResult, workloadTools } from "../workload.ts"

export const sdkServer = (): McpServer => {
  const server = new McpServer({ name: "sdk", version: "1.0.0" })
  for (const { name, description, shape } of workloadTools)
    server.registerTool(name, { description, inputSchema: shape }, async () => toolResult)
  return server
}
