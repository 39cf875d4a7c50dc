/** The SDK's official stateless example: Express on Node, a new server and transport for each request. */
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import express from "express"
import { announce } from "../workload.ts"
import { sdkServer } from "./sdk-tools.ts"

const app = express()
app.use(express.json())
app.post("/mcp", async (request, response) => {
  const server = sdkServer()
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
  await server.connect(transport)
  await transport.handleRequest(request, response, request.body)
  response.on("close", () => {
    void transport.close()
    void server.close()
  })
})
const listening = app.listen(0, "127.0.0.1", () => {
  const address = listening.address()
  announce(typeof address === "object" && address !== null ? address.port : 0)
})
