import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"
import { announce } from "../workload.ts"
import { sdkServer } from "./sdk-tools.ts"

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  fetch: async (request) => {
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    await sdkServer().connect(transport)
    return transport.handleRequest(request)
  },
})
announce(server.port ?? 0)
