import { afterEach, describe, expect, test } from "bun:test"
import type { Socket } from "node:net"
import { HelmrApiError, HelmrConnectionError, HelmrError } from "@helmr/sdk"
import { createSessions } from "@helmr/sdk/client/sessions"
import type { Transport } from "@helmr/sdk/client/transport/transport"
import {
  type Answer,
  apiKey,
  failureOf,
  hasty,
  id,
  json,
  manualTime,
  refusal,
  serve,
  serveBytes,
  transportTo,
} from "./fake.ts"

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

const server = (answer: Answer) => {
  const opened = serve(answer)
  closers.push(opened.close)
  return opened
}
const bytesServer = async (answer: (socket: Socket, head: string, number: number) => void) => {
  const opened = await serveBytes(answer)
  closers.push(opened.close)
  return opened
}

const accepted = { id: id("ctl"), sessionId: id("ses"), status: "accepted", holdId: id("hld") }
const noSessions = { sessions: [] }
const list = (transport: Transport, options = {}) => createSessions(transport).list(options)
const interrupt = (transport: Transport, options = {}) =>
  createSessions(transport).handle(id("ses")).interrupt(options)
const keysOf = (seen: readonly { readonly body: string }[]) =>
  seen.map(({ body }) => JSON.parse(body).idempotencyKey)

const connectionError = async (promise: Promise<unknown>): Promise<HelmrConnectionError> => {
  const error = await failureOf(promise)
  if (!(error instanceof HelmrConnectionError)) throw error
  return error
}
const apiError = async (promise: Promise<unknown>): Promise<HelmrApiError> => {
  const error = await failureOf(promise)
  if (!(error instanceof HelmrApiError)) throw error
  return error
}

describe("repetition", () => {
  test("a mutation is sent again with the caller's key until it is answered", async () => {
    const { url, seen } = server((_, number) =>
      number < 2 ? refusal("store_unavailable", 503) : json(accepted),
    )
    const answer = await interrupt(transportTo(url, hasty), { idempotencyKey: "mine" })
    expect(answer.holdId).toBe(id("hld"))
    expect(keysOf(seen)).toEqual(["mine", "mine", "mine"])
  })

  test("a key that the client made is the same in each attempt, and another one in the next call", async () => {
    const { url, seen } = server((_, number) =>
      number % 2 === 0 ? refusal("rate_limited", 429, { "retry-after": "0" }) : json(accepted),
    )
    const transport = transportTo(url, hasty)
    await interrupt(transport)
    await interrupt(transport)
    const keys = keysOf(seen)
    expect(keys[0]).toBe(keys[1])
    expect(keys[2]).toBe(keys[3])
    expect(keys[0]).not.toBe(keys[2])
  })

  test("a final refusal is not repeated and carries what the server said", async () => {
    const { url, seen } = server(() =>
      json({ error: { code: "idempotency_conflict", message: "another request", field: "input" } }, 409),
    )
    const error = await apiError(interrupt(transportTo(url, hasty), { idempotencyKey: "mine" }))
    expect(error).toMatchObject({
      name: "HelmrApiError",
      code: "idempotency_conflict",
      message: "another request",
      field: "input",
      status: 409,
      idempotencyKey: "mine",
    })
    expect(error).toBeInstanceOf(HelmrError)
    expect(seen).toHaveLength(1)
  })

  test("it ends after eight attempts with the last refusal", async () => {
    const { url, seen } = server(() => refusal("admission_unavailable", 503))
    const error = await apiError(list(transportTo(url, hasty)))
    expect([error.code, error.status]).toEqual(["admission_unavailable", 503])
    expect(seen).toHaveLength(8)
  })

  test("an option that a mutation does not know is refused by name, and nothing is sent", async () => {
    const { url, seen } = server(() => json(accepted))
    const misspelt = { idempotencykey: "mine" }
    expect(await failureOf(interrupt(transportTo(url, hasty), misspelt))).toMatchObject({
      code: "invalid_arguments",
      field: "idempotencykey",
    })
    expect(seen).toHaveLength(0)
  })

  test("a client says how often it repeats at most, and no other number", async () => {
    for (const maxRetries of [0, 2]) {
      const { url, seen } = server(() => refusal("admission_unavailable", 503))
      await apiError(list(transportTo(url, hasty, { maxRetries })))
      expect(seen).toHaveLength(maxRetries + 1)
    }
    for (const maxRetries of [-1, 1.5, Number.NaN])
      expect(() => transportTo("http://h", hasty, { maxRetries })).toThrow(
        "maxRetries must be a whole number",
      )
  })

  test("Retry-After is a lower bound of the pause, and one that the time does not allow ends the call", async () => {
    const { url, seen } = server((_, number) =>
      number === 0
        ? refusal("rate_limited", 429, { "retry-after": "7" })
        : refusal("rate_limited", 429, { "retry-after": "90" }),
    )
    const time = manualTime()
    const error = failureOf(list(transportTo(url, time.ports)))
    await time.waiting(7_000)
    time.advance(6_999)
    expect(seen).toHaveLength(1)
    time.advance(1)
    expect(await error).toMatchObject({ code: "rate_limited", retryAfterMs: 90_000 })
    expect(seen).toHaveLength(2)
  })

  test("a proxy's page passes when it may, and is an error of another protocol when it may not", async () => {
    const page = (status: number) =>
      new Response("<html><h1>Bad gateway</h1></html>", { status, headers: { "content-type": "text/html" } })
    const passing = server((_, number) => (number < 2 ? page(502) : json(noSessions)))
    expect(await list(transportTo(passing.url, hasty))).toEqual(noSessions)
    const final = server(() => page(403))
    const error = await apiError(list(transportTo(final.url, hasty)))
    expect([error.code, error.status, error.message]).toEqual([
      "unsupported_protocol",
      403,
      "the server answered 403: <html><h1>Bad gateway</h1></html>",
    ])
    expect(final.seen).toHaveLength(1)
  })

  test("a code of a later version is final, whatever it is, unless its status may pass", async () => {
    const { url, seen } = server((_, number) =>
      number === 0 ? refusal("too_lunar", 503) : refusal("too_lunar", 422),
    )
    const error = await apiError(list(transportTo(url, hasty)))
    expect([error.code, error.status, error.message]).toEqual([
      "unsupported_protocol",
      422,
      "too_lunar: about too_lunar",
    ])
    expect(seen).toHaveLength(2)
  })
})

const head = (length: number, type = "application/json") =>
  `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`

describe("what comes back", () => {
  const text = JSON.stringify(noSessions)

  test.each([
    ["cut before any answer", (socket: Socket) => socket.destroy()],
    ["closed before any answer", (socket: Socket) => socket.end()],
    ["cut within the head", (socket: Socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Ty")],
    ["closed within an answer that says its length", (socket: Socket) => socket.end(`${head(14)}{"sess`)],
    [
      "closed within an answer in chunks",
      (socket: Socket) =>
        socket.end(
          'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n{"sess\r\n',
        ),
    ],
    [
      "reset within an answer",
      (socket: Socket) => socket.write(`${head(15)}{"sess`, () => socket.resetAndDestroy()),
    ],
  ])("a connection that is %s is tried again", async (_, cut) => {
    const { url, asked } = await bytesServer((socket, __, number) => {
      if (number === 0) cut(socket)
      else socket.end(`${head(text.length)}${text}`)
    })
    expect(await list(transportTo(url, hasty))).toEqual(noSessions)
    expect(asked()).toBe(2)
  })

  test("a mutation whose answers are all lost says that it may have been carried out, and under which key", async () => {
    const { url } = await bytesServer((socket) => socket.destroy())
    const error = await connectionError(interrupt(transportTo(url, hasty), { idempotencyKey: "mine" }))
    expect([error.reason, error.code, error.idempotencyKey]).toEqual([
      "unreachable",
      "admission_unavailable",
      "mine",
    ])
    expect(error.message).toContain("may have been carried out")
  })

  test("a port where nobody listens is named by the system's word", async () => {
    const closed = serve(() => json({}))
    await closed.close()
    const error = await connectionError(list(transportTo(closed.url, hasty)))
    expect(error.reason).toBe("unreachable")
    expect(error.message).toMatch(/^GET http:\/\/127\.0\.0\.1:\d+\/v1\/sessions got no answer: ECONNREFUSED$/)
  })

  test.each([301, 302, 303, 307, 308])(
    "a redirect (%p) is not followed: the key goes nowhere else",
    async (status) => {
      const elsewhere = server(() => json(noSessions))
      const { url, seen } = server(
        () => new Response("moved", { status, headers: { location: `${elsewhere.url}/v1/sessions` } }),
      )
      const error = await connectionError(interrupt(transportTo(url, hasty)))
      expect([error.reason, error.code]).toEqual(["unexpected_answer", "unsupported_protocol"])
      expect(error.message).toContain("redirect")
      expect([seen.length, elsewhere.seen.length]).toEqual([1, 0])
    },
  )

  test.each([
    ["no JSON", "<html></html>", "is not JSON"],
    ["nothing", "", "is not JSON"],
    ["half of it", '{"sessions":[', "is not JSON"],
    ["another form", "[]", "the answer must be an object"],
    ["a field that is missing", "{}", '"sessions" of the answer is required'],
    ["a field of another kind", '{"sessions":{}}', '"sessions" of the answer must be an array'],
  ])("an answer that is %s is an error, and not asked for again", async (_, body, message) => {
    const { url, seen } = server(
      () => new Response(body, { headers: { "content-type": "application/json" } }),
    )
    const error = await connectionError(list(transportTo(url, hasty)))
    expect(error.reason).toBe("unexpected_answer")
    expect(error.message).toContain(message)
    expect(seen).toHaveLength(1)
  })

  test("fields of a later version are passed over", async () => {
    const { url } = server(() => json({ ...accepted, mood: "calm" }))
    expect(await interrupt(transportTo(url))).toEqual({ ...accepted, status: "accepted" })
  })

  test("an answer beyond every size is given up, and its connection closed", async () => {
    let cancelled = false
    const endless = () =>
      new Response(
        new ReadableStream({
          pull: (controller) => controller.enqueue(new Uint8Array(4 * 1_048_576).fill(32)),
          cancel: () => {
            cancelled = true
          },
        }),
      )
    const transport = transportTo("http://h", {}, { fetch: async () => endless() })
    const error = await connectionError(list(transport))
    expect([error.reason, cancelled]).toEqual(["unexpected_answer", true])
    expect(error.message).toContain("larger than any")
  })

  test("the connection of an answer that is not read is closed: a redirect, a stream that is none", async () => {
    let cancelled = 0
    const endless = (status: number) => {
      const body = new ReadableStream({
        cancel: () => {
          cancelled += 1
        },
      })
      return new Response(body, { status, headers: { location: "/x", "content-type": "text/html" } })
    }
    await connectionError(list(transportTo("http://h", {}, { fetch: async () => endless(302) })))
    expect(cancelled).toBe(1)
    const sessions = createSessions(transportTo("http://h", {}, { fetch: async () => endless(200) }))
    const events = sessions.handle(id("ses")).events.stream()
    await connectionError(events[Symbol.asyncIterator]().next())
    expect(cancelled).toBe(2)
  })
})

describe("time and aborts", () => {
  const silent = async () => {
    const arrived = Promise.withResolvers<void>()
    const { url, connections } = await bytesServer(() => arrived.resolve())
    return { url, connections, arrived: arrived.promise }
  }

  test("a call ends with its time, and says so", async () => {
    const { url, arrived } = await silent()
    const time = manualTime()
    const error = failureOf(
      interrupt(transportTo(url, time.ports), { timeoutMs: 5_000, idempotencyKey: "k" }),
    )
    await arrived
    time.advance(5_000)
    expect(await error).toMatchObject({
      name: "HelmrConnectionError",
      reason: "timeout",
      code: "admission_unavailable",
      idempotencyKey: "k",
    })
    expect(time.timers()).toBe(0)
  })

  test("an attempt that falls silent is replaced, long before the call's time is over", async () => {
    const asked = Promise.withResolvers<void>()
    const { url } = await bytesServer((socket, _, number) => {
      if (number > 0) socket.end(`${head(15)}{"sessions":[]}`)
      // Half of an answer, and then nothing.
      else socket.write(`${head(15)}{"sess`, () => asked.resolve())
    })
    const time = manualTime()
    const answer = list(transportTo(url, time.ports))
    await asked.promise
    time.advance(20_000)
    await time.waiting(187.5)
    time.advance(187.5)
    expect(await answer).toEqual(noSessions)
    expect(time.timers()).toBe(0)
  })

  /** Counts what listens to it. */
  const counted = () => {
    const controller = new AbortController()
    const { signal } = controller
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1
      add(...args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1
      remove(...args)
    }
    return { controller, signal, listeners: () => listeners }
  }

  const reason = new Error("enough")

  test.each(["the call's signal", "the client's signal"])(
    "%s ends it at any point, with its reason",
    async (whose) => {
      const time = manualTime()
      const run = (url: string, signal: AbortSignal, fields = {}) => {
        const client = transportTo(url, time.ports, whose === "the client's signal" ? { signal } : {})
        return failureOf(list(client, whose === "the client's signal" ? fields : { ...fields, signal }))
      }
      const settled = async (abort: ReturnType<typeof counted>, error: Promise<unknown>) => {
        expect(await error).toBe(reason)
        expect([time.timers(), abort.listeners()]).toEqual([0, 0])
      }

      const before = counted()
      before.controller.abort(reason)
      const untouched = server(() => json(noSessions))
      await settled({ ...before, listeners: () => 0 }, run(untouched.url, before.signal))
      expect(untouched.seen).toEqual([])

      const waiting = counted()
      const { url, arrived, connections } = await silent()
      const unanswered = run(url, waiting.signal)
      await arrived
      waiting.controller.abort(reason)
      await settled(waiting, unanswered)
      while (connections() > 0) await new Promise(setImmediate)

      const reading = counted()
      const begun = Promise.withResolvers<void>()
      const half = await bytesServer((socket) => socket.write(`${head(15)}{"sess`, () => begun.resolve()))
      const unfinished = run(half.url, reading.signal)
      await begun.promise
      reading.controller.abort(reason)
      await settled(reading, unfinished)

      const between = counted()
      const busy = server(() => refusal("rate_limited", 429, { "retry-after": "30" }))
      const paused = run(busy.url, between.signal)
      await time.waiting(30_000)
      between.controller.abort(reason)
      await settled(between, paused)
      expect(busy.seen).toHaveLength(1)
    },
  )

  test("it ends while a large body is being sent to somebody who does not read", async () => {
    const abort = new AbortController()
    const { createDeployments } = await import("@helmr/sdk/client/deployments")
    const { url, arrived } = await silent()
    const deployments = createDeployments(transportTo(url))
    const archive = new Uint8Array(32 * 1_048_576)
    const error = failureOf(deployments.publish({ archive }, { signal: abort.signal }))
    await arrived
    abort.abort(reason)
    expect(await error).toBe(reason)
  })

  test("nothing stays behind after an answer", async () => {
    const time = manualTime()
    const abort = counted()
    const { url } = server(() => json(noSessions))
    await list(transportTo(url, time.ports, { signal: abort.signal }), { signal: abort.signal })
    expect([time.timers(), abort.listeners()]).toEqual([0, 0])
  })

  test("times that no timer of the platform holds are kept, and what is no time is refused by name", async () => {
    const { url } = server(() => json(noSessions))
    for (const timeoutMs of [2 ** 31, 1e12, Number.POSITIVE_INFINITY])
      expect(await list(transportTo(url), { timeoutMs })).toEqual(noSessions)
    for (const timeoutMs of [0, -1, Number.NaN])
      expect(await failureOf(list(transportTo(url), { timeoutMs }))).toMatchObject({
        code: "invalid_arguments",
        field: "timeoutMs",
      })
  })
})

test("the key goes to the base URL below its path, once, in one header", async () => {
  const { url, seen } = server(() => json(noSessions))
  await list(transportTo(`${url}/proxy/helmr/`))
  expect(seen[0]?.url.pathname).toBe("/proxy/helmr/v1/sessions")
  expect(seen[0]?.headers.get("authorization")).toBe(`Bearer ${apiKey}`)
  expect(
    [seen[0]?.url.href, [...(seen[0]?.headers ?? [])].filter(([name]) => name !== "authorization")].join(),
  ).not.toContain(apiKey)
})
