/**
 * Memory under malformed requests: 100,000 of more than twenty classes over raw sockets. After a full collection the
 * process must hold at most 1.1 times what it held after the first tenth.
 *
 *   bun endpoint/malformed.ts [requests]
 */
import { heapStats } from "bun:jsc"
import { benchEndpoint } from "./our-endpoint.ts"
import { bodies, token } from "./workload.ts"

const total = Number(process.argv[2] ?? 100_000)
const endpoint = benchEndpoint()
const { port } = endpoint

type Headers = Readonly<Record<string, string>>

const request = (headers: Headers, body = "", line = "POST /mcp HTTP/1.1"): string => {
  const all = {
    Host: `127.0.0.1:${port}`,
    Authorization: token,
    "Content-Type": "application/json",
    "Content-Length": String(Buffer.byteLength(body)),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return `${line}\r\n${lines.join("\r\n")}\r\n\r\n${body}`
}
const call = (params: unknown): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params })

const classes: readonly string[] = [
  request({ Host: "evil.test" }, bodies.list),
  request({ Host: `a@127.0.0.1:${port}` }, bodies.list),
  request({ Origin: "http://evil.test" }, bodies.list),
  request({ Authorization: "Bearer x" }, bodies.list),
  request({ Authorization: `${token}, ${token}` }, bodies.list),
  request({}, bodies.list, "POST /other HTTP/1.1"),
  request({}, "", "GET /mcp HTTP/1.1"),
  request({}, "", "DELETE /mcp HTTP/1.1"),
  request({ "Content-Length": "abc" }),
  request({ "Content-Length": "2000000" }),
  request({ "Transfer-Encoding": "chunked" }, "ZZ\r\n"),
  request({ "Content-Type": "text/plain" }, bodies.list),
  request({ "Content-Encoding": "gzip" }, bodies.list),
  request({ Accept: "text/html" }, bodies.list),
  request({}, "{"),
  request({}, `[${bodies.list}]`),
  request({}, "[".repeat(10_000)),
  request({}, '{"jsonrpc":"2.0","id":1.5,"method":"ping"}'),
  request({}, '{"jsonrpc":"1.0","id":1,"method":"ping"}'),
  request({}, call({ name: "no_such_tool" })),
  request({}, call({ name: "wait_turn", arguments: { sessionId: "x".repeat(2_000) } })),
  request({ "MCP-Protocol-Version": "1999-01-01" }, bodies.list),
  request({ "X-Long": "a".repeat(40_000) }),
  "\u0016\u0003\u0001garbage\r\n\r\n",
  "POST /mcp HTTP/1.1\r\nHost",
]

/** Sends one, waits for an answer or the end, and leaves. */
const send = (bytes: string): Promise<void> =>
  new Promise((resolve) => {
    void Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        open: (socket) => {
          socket.write(bytes)
          // What is incomplete is never answered: leaving is part of the case.
          if (!bytes.includes("\r\n\r\n")) socket.end()
        },
        data: (socket) => void socket.end(),
        close: () => resolve(),
        error: () => resolve(),
        connectError: () => resolve(),
      },
    }).catch(() => resolve())
  })

const settle = async (): Promise<{ readonly rss: number; readonly heap: number }> => {
  for (let round = 0; round < 5; round += 1) {
    Bun.gc(true)
    await Bun.sleep(50)
  }
  return { rss: process.memoryUsage.rss(), heap: heapStats().heapSize }
}

let sent = 0
const lane = async (until: number): Promise<void> => {
  while (sent < until) {
    sent += 1
    await send(classes[sent % classes.length] ?? "")
  }
}
const burst = (until: number): Promise<unknown> => Promise.all(Array.from({ length: 32 }, () => lane(until)))

await burst(total / 10)
const early = await settle()
await burst(total)
const late = await settle()

const megabytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MB`
console.log(
  `${total} malformed requests of ${classes.length} classes; open afterwards: ${endpoint.stats().open}`,
)
console.log(
  `  rss   ${megabytes(early.rss)} after a tenth, ${megabytes(late.rss)} at the end: ${(late.rss / early.rss).toFixed(2)}`,
)
console.log(
  `  heap  ${megabytes(early.heap)} after a tenth, ${megabytes(late.heap)} at the end: ${(late.heap / early.heap).toFixed(2)}`,
)
await endpoint.close("exited")
if (late.rss > early.rss * 1.1 || endpoint.stats().open > 0) process.exitCode = 1
