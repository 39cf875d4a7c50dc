import { StreamableHTTPTransport } from "@hono/mcp"
import { Hono } from "hono"
import { announce } from "../workload.ts"
import { sdkServer } from "./sdk-tools.ts"

const app = new Hono()
app.all("/mcp", async (context) => {
  const transport = new StreamableHTTPTransport({ enableJsonResponse: true })
  await sdkServer().connect(transport)
  return transport.handleRequest(context)
})
const server = Bun.serve({ hostname: "127.0.0.1", port: 0, development: false, fetch: app.fetch })
announce(server.port ?? 0)
