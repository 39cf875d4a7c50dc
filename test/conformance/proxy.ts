/**
 * A loopback proxy for the conformance suites, which cannot send a bearer. It adds the Authorization header and turns
 * its own name in Host and Origin into the server's; foreign names pass, since one scenario sends them. Two tools of the
 * suites' own fixture server stand for calls that every server has: a success and a failure.
 */
import { connect, createServer, type Socket } from "node:net"

export interface LoopbackProxy {
  readonly url: string
  readonly close: () => Promise<void>
}

interface Target {
  readonly port: number
  readonly authorization: string
}

interface Call {
  method?: string
  params?: { name?: string; arguments?: unknown }
}

const aliases: Readonly<Record<string, { readonly name: string; readonly arguments: unknown }>> = {
  test_simple_text: { name: "skills", arguments: {} },
  test_error_handling: { name: "skills", arguments: { name: "no-such-skill" } },
}

const aliased = (body: string): string => {
  if (!body.includes('"test_')) return body
  const message: Call = JSON.parse(body)
  const alias = aliases[message.params?.name ?? ""]
  return alias === undefined ? body : JSON.stringify({ ...message, params: { ...message.params, ...alias } })
}

const rewriteHeader = (line: string, ownPort: number, target: Target): string => {
  const [, name = "", value = ""] = /^([^:]+):\s*(.*)$/.exec(line) ?? []
  switch (name.toLowerCase()) {
    case "host":
    case "origin":
      return `${name}: ${value.replace(new RegExp(`(127\\.0\\.0\\.1|localhost):${ownPort}$`), `$1:${target.port}`)}`
    case "mcp-name":
      return `${name}: ${aliases[value]?.name ?? value}`
    default:
      return line
  }
}

/** One whole request off the front of `bytes`, rewritten, with what is left; `undefined` until it is whole. */
const takeRequest = (
  bytes: Buffer,
  ownPort: number,
  target: Target,
): { request: Buffer; rest: Buffer } | undefined => {
  const end = bytes.indexOf("\r\n\r\n")
  if (end === -1) return undefined
  const [requestLine = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n")
  const length = Number(/^content-length:\s*(\d+)/im.exec(lines.join("\n"))?.[1] ?? 0)
  const from = end + 4
  if (bytes.length < from + length) return undefined
  const body = Buffer.from(aliased(bytes.subarray(from, from + length).toString("utf8")))
  const head = [
    requestLine,
    ...lines
      .filter((line) => !/^content-length:/i.test(line))
      .map((line) => rewriteHeader(line, ownPort, target)),
    `Authorization: ${target.authorization}`,
    ...(length > 0 ? [`Content-Length: ${body.length}`] : []),
  ]
  return {
    request: Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), body]),
    rest: bytes.subarray(from + length),
  }
}

export const openProxy = async (target: Target): Promise<LoopbackProxy> => {
  const sockets = new Set<Socket>()
  let ownPort = 0
  const track = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.on("error", () => socket.destroy())
    socket.on("close", () => sockets.delete(socket))
    return socket
  }
  const server = createServer((client) => {
    track(client)
    const upstream = track(connect(target.port, "127.0.0.1"))
    let pending: Buffer = Buffer.alloc(0)
    client.on("data", (data: Buffer) => {
      pending = Buffer.concat([pending, data])
      for (let taken = takeRequest(pending, ownPort, target); taken !== undefined; ) {
        pending = taken.rest
        upstream.write(taken.request)
        taken = takeRequest(pending, ownPort, target)
      }
    })
    upstream.on("data", (data) => client.write(data))
    client.on("close", () => upstream.destroy())
    upstream.on("close", () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  ownPort = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${ownPort}/mcp`,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
