/** A bare TCP client: it sends the bytes it is told to send, well-formed or not, and reads what comes back. */
import { connect, type Socket } from "node:net"

export interface RawResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface RawConnection {
  readonly send: (bytes: string | Uint8Array) => void
  /** The next whole response, or how the connection ended without one. */
  readonly response: () => Promise<RawResponse | "closed">
  readonly closed: Promise<void>
  readonly destroy: () => void
  /** Ends the sending side only. */
  readonly finish: () => void
  readonly received: () => string
}

/** Bounds every wait: nothing here takes seconds. */
const waitMs = 5_000

const within = <Value>(promise: Promise<Value>, what: string): Promise<Value> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no ${what} within ${waitMs} ms`)), waitMs)
  })
  return Promise.race([promise, limit]).finally(() => clearTimeout(timer))
}

const parseHead = (head: string): Omit<RawResponse, "body"> => {
  const [line = "", ...rest] = head.split("\r\n")
  const headers = Object.fromEntries(
    rest.map((each) => {
      const colon = each.indexOf(":")
      return [each.slice(0, colon).toLowerCase(), each.slice(colon + 1).trim()]
    }),
  )
  return { status: Number(line.split(" ")[1]), headers }
}

/** One response off the front of `text`, with what is left. */
const takeResponse = (text: string): { response: RawResponse; rest: string } | undefined => {
  const end = text.indexOf("\r\n\r\n")
  if (end === -1) return undefined
  const head = parseHead(text.slice(0, end))
  if (head.status === 100) return takeResponse(text.slice(end + 4))
  const length = Number(head.headers["content-length"] ?? 0)
  const from = end + 4
  if (text.length < from + length) return undefined
  return {
    response: { ...head, body: Buffer.from(text.slice(from, from + length), "latin1").toString("utf8") },
    rest: text.slice(from + length),
  }
}

export const openRaw = async (port: number): Promise<RawConnection> => {
  let text = ""
  let all = ""
  let wake = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  let isEnded = false
  const socket: Socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true })
  socket.setNoDelay(true)
  const end = (): void => {
    isEnded = true
    ended.resolve()
    wake.resolve()
  }
  socket.on("data", (data) => {
    text += data.toString("latin1")
    all += data.toString("latin1")
    wake.resolve()
  })
  socket.on("end", end)
  socket.on("close", end)
  socket.on("error", end)
  await within(
    new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve)
      socket.once("error", reject)
    }),
    "connection",
  )

  const response = async (): Promise<RawResponse | "closed"> => {
    for (;;) {
      const taken = takeResponse(text)
      if (taken !== undefined) {
        text = taken.rest
        return taken.response
      }
      if (isEnded) return "closed"
      await wake.promise
      wake = Promise.withResolvers<void>()
    }
  }
  return {
    send: (bytes) => void socket.write(bytes),
    response: () => within(response(), "response"),
    closed: ended.promise,
    destroy: () => void socket.destroy(),
    finish: () => void socket.end(),
    received: () => all,
  }
}

export interface RawRequest {
  readonly method?: string
  readonly path?: string
  /** Replaces a usual header of that name; `undefined` leaves it out; an array sends it more than once. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body?: string | Uint8Array
}

/** The bytes of a request that would be served, changed where asked. */
export const requestBytes = (
  port: number,
  authorization: string,
  { method = "POST", path = "/mcp", headers = {}, body = "" }: RawRequest,
): Buffer => {
  const content = typeof body === "string" ? Buffer.from(body, "utf8") : Buffer.from(body)
  const usual: Record<string, string | readonly string[] | undefined> = {
    Host: `127.0.0.1:${port}`,
    Authorization: authorization,
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
    "Content-Length": String(content.length),
    ...headers,
  }
  const lines = Object.entries(usual).flatMap(([name, value]) => {
    if (value === undefined) return []
    return (typeof value === "string" ? [value] : value).map((each) => `${name}: ${each}`)
  })
  return Buffer.concat([
    Buffer.from(`${[`${method} ${path} HTTP/1.1`, ...lines].join("\r\n")}\r\n\r\n`),
    content,
  ])
}

export const rpc = (method: string, params?: unknown, id: string | number = 1): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) })

export const ping = rpc("ping")

export const skillsCall = (id: string | number = 1): string =>
  rpc("tools/call", { name: "skills", arguments: {} }, id)

/** Chunked transfer of `parts`. */
export const chunked = (parts: readonly string[]): string =>
  `${parts.map((part) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`).join("")}0\r\n\r\n`
