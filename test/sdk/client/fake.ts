/** A server in the place of the public API, which answers as a test says; and a transport whose time is the test's. */
import { createServer, type Socket } from "node:net"
import { connectionOf, type HelmrClientOptions } from "@helmr/sdk/client/options"
import { type Ports, systemPorts } from "@helmr/sdk/client/ports"
import { createTransport } from "@helmr/sdk/client/transport/transport"

export const apiKey = `hlm_${"1".repeat(32)}_${"a5".repeat(32)}`
export const id = (prefix: string, tail = 1): string =>
  `${prefix}_01900000-0000-7000-8000-${String(tail).padStart(12, "0")}`

interface Seen {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly body: string
}

export type Answer = (request: Request, number: number) => Response | Promise<Response>

/** Speaks HTTP. `answer` is told how many requests came before. */
export const serve = (answer: Answer) => {
  const seen: Seen[] = []
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const body = await request.clone().text()
      seen.push({ method: request.method, url: new URL(request.url), headers: request.headers, body })
      return answer(request, seen.length - 1)
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    seen,
    close: () => server.stop(true),
  }
}

/** Sends bytes. Each connection is one request; `answer` writes what it likes and cuts when it likes. */
export const serveBytes = async (answer: (socket: Socket, head: string, number: number) => void) => {
  const sockets = new Set<Socket>()
  let count = 0
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
    socket.on("error", () => undefined)
    let head = ""
    const read = (bytes: Buffer): void => {
      head += bytes.toString("latin1")
      if (!head.includes("\r\n\r\n")) return
      socket.off("data", read)
      socket.resume()
      answer(socket, head, count)
      count += 1
    }
    socket.on("data", read)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("no port")
  return {
    url: `http://127.0.0.1:${address.port}`,
    connections: () => sockets.size,
    asked: () => count,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

export const json = (value: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  Response.json(value, { status, headers })

export const refusal = (code: string, status: number, headers: Record<string, string> = {}): Response =>
  json({ error: { code, message: `about ${code}` } }, status, headers)

interface Timer {
  readonly at: number
  readonly run: () => void
}

/** Time stands still until the test moves it, or runs by itself from timer to timer, so that nothing waits. */
export const manualTime = () => {
  let now = 0
  const timers = new Set<Timer>()
  const delays: number[] = []
  const ports = {
    now: () => now,
    random: () => 0.5,
    after: (delayMs, run) => {
      const timer = { at: now + delayMs, run }
      delays.push(delayMs)
      timers.add(timer)
      return () => timers.delete(timer)
    },
  } satisfies Partial<Ports>
  const advance = (ms: number): void => {
    const end = now + ms
    for (;;) {
      const due = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
      if (due === undefined) break
      timers.delete(due)
      now = Math.max(now, due.at)
      due.run()
    }
    now = end
  }
  return {
    ports,
    /** Of every timer that was ever set. */
    delays,
    timers: () => timers.size,
    /** Resolves when a timer with this delay is set; that is when the code under test waits for it. */
    waiting: async (delayMs: number): Promise<void> => {
      while (![...timers].some(({ at }) => at === now + delayMs)) await new Promise(setImmediate)
    },
    advance,
  }
}

export const transportTo = (
  url: string,
  ports: Partial<Ports> = {},
  options: Partial<HelmrClientOptions> = {},
) => {
  const connection = connectionOf({ baseUrl: url, apiKey, ...options })
  return createTransport(connection, { ...systemPorts(options.fetch), ...ports })
}

/** Pauses end at once, times of attempts and calls are real: what is tested is what is sent, not when. */
export const hasty = {
  after: (delayMs, run) => {
    if (delayMs >= 10_000) return systemPorts(undefined).after(delayMs, run)
    const immediate = setImmediate(run)
    return () => clearImmediate(immediate)
  },
} satisfies Partial<Ports>

/** The error of what must fail. */
export const failureOf = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error("it did not fail")
}
