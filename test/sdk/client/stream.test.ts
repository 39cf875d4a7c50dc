import { afterEach, describe, expect, test } from "bun:test"
import type { Socket } from "node:net"
import type { SessionEvent } from "@helmr/sdk"
import type { StreamEventsOptions } from "@helmr/sdk/client/events/events"
import type { Ports } from "@helmr/sdk/client/ports"
import { createSessions } from "@helmr/sdk/client/sessions"
import fc from "fast-check"
import { failureOf, hasty, id, json, manualTime, refusal, serve, serveBytes, transportTo } from "./fake.ts"

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

const sessionId = id("ses")
const at = "2026-12-01T00:00:00.000Z"
const data = (sequence: number, fields: object = {}) => ({
  cursor: `c${sequence}`,
  sequence,
  sessionId,
  at,
  type: "turn_output",
  turnId: id("trn"),
  text: `é${sequence}`,
  ...fields,
})
const frame = (sequence: number, fields: object = {}): string =>
  `id: c${sequence}\nevent: x\ndata: ${JSON.stringify(data(sequence, fields))}\n\n`
const frames = (first: number, last: number): string =>
  Array.from({ length: last - first + 1 }, (_, index) => frame(first + index)).join("")

const eventStream = { headers: { "content-type": "text/event-stream; charset=utf-8" } }
const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
const over = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
const afterOf = (head: string): number => Number(/after=c(\d+)/.exec(head)?.[1] ?? 0)

const bytesServer = async (answer: (socket: Socket, head: string, number: number) => void) => {
  const opened = await serveBytes(answer)
  closers.push(opened.close)
  return opened
}
const streamOf = (url: string, options: StreamEventsOptions = {}, ports: Partial<Ports> = hasty) =>
  createSessions(transportTo(url, ports)).handle(sessionId).events.stream(options)

const read = async (events: AsyncIterable<SessionEvent>): Promise<number[]> => {
  const seen: number[] = []
  for await (const { sequence } of events) seen.push(sequence)
  return seen
}
const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1)

/** A fetch whose streams are what the test writes. */
const written = (time: ReturnType<typeof manualTime>) => {
  const opened: { readonly url: URL; readonly write: (text: string) => void; readonly end: () => void }[] = []
  let cancelled = 0
  const fetch: Ports["fetch"] = async (url) => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const writer = writable.getWriter()
    writer.closed.catch(() => {
      cancelled += 1
    })
    const encoder = new TextEncoder()
    opened.push({
      url: new URL(url),
      write: (text) => void writer.write(encoder.encode(text)).catch(() => undefined),
      end: () => void writer.close().catch(() => undefined),
    })
    return new Response(readable, eventStream)
  }
  return { ports: { ...time.ports, fetch }, opened, cancelled: () => cancelled }
}

const until = async (done: () => boolean): Promise<void> => {
  while (!done()) await new Promise(setImmediate)
}

describe("every event once and in order", () => {
  test("however the connection is cut, at any byte, and with events that are sent again", async () => {
    const last = 12
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(2_000), { maxLength: 6 }), fc.boolean(), async (cuts, again) => {
        const { url, close } = await serveBytes((socket, head, number) => {
          const after = afterOf(head)
          if (after === last) {
            socket.end(over)
            return
          }
          const from = again ? Math.max(1, after - 1) : after + 1
          const whole = Buffer.from(`${streamHead}${frames(from, last)}`)
          const cut = cuts[number]
          if (cut === undefined) socket.end(whole)
          else socket.write(whole.subarray(0, cut % (whole.length + 1)), () => socket.destroy())
        })
        try {
          expect(await read(streamOf(url))).toEqual(upTo(last))
        } finally {
          await close()
        }
      }),
      { numRuns: 60 },
    )
  })

  test("an event of a later version is passed over, and the next connection begins after it", async () => {
    const heads: string[] = []
    const { url } = await bytesServer((socket, head, number) => {
      heads.push(head.split("\r\n")[0] ?? "")
      if (number === 0) socket.end(`${streamHead}${frame(1)}${frame(2, { type: "moon_rose", moon: 1 })}`)
      else socket.end(number === 1 ? `${streamHead}${frame(2, { type: "moon_rose" })}${frame(3)}` : over)
    })
    expect(await read(streamOf(url, { tree: true }))).toEqual([1, 3])
    expect(heads).toEqual([
      `GET /v1/sessions/${sessionId}/events/stream?tree=true HTTP/1.1`,
      `GET /v1/sessions/${sessionId}/events/stream?after=c2&tree=true HTTP/1.1`,
      `GET /v1/sessions/${sessionId}/events/stream?after=c3&tree=true HTTP/1.1`,
    ])
  })

  test("to each loop over one stream, also at the same time", async () => {
    const { url } = await bytesServer((socket, head) =>
      socket.end(afterOf(head) === 5 ? over : `${streamHead}${frames(afterOf(head) + 1, 5)}`),
    )
    const stream = streamOf(url, { after: "c2" })
    expect(await Promise.all([read(stream), read(stream)])).toEqual([
      [3, 4, 5],
      [3, 4, 5],
    ])
    expect(await read(stream)).toEqual([3, 4, 5])
  })

  test("to a slow reader, for whom no more than a bounded part is read ahead", async () => {
    const total = 3_000
    const text = "x".repeat(10_000)
    let sent = 0
    const server = serve((request) => {
      if (new URL(request.url).searchParams.has("after")) return new Response(null, { status: 204 })
      const encoder = new TextEncoder()
      const body = new ReadableStream<Uint8Array>({
        pull: (controller) => {
          sent += 1
          controller.enqueue(encoder.encode(frame(sent, { text })))
          if (sent === total) controller.close()
        },
      })
      return new Response(body, eventStream)
    })
    closers.push(server.close)
    const seen: number[] = []
    for await (const { sequence } of streamOf(server.url)) {
      seen.push(sequence)
      if (sequence !== 10) continue
      // The server goes on until everything between it and this loop is full.
      for (let before = -1; before !== sent; await Bun.sleep(100)) before = sent
      expect(sent).toBeLessThan(total)
    }
    expect(seen).toEqual(upTo(total))
  })
})

describe("it ends", () => {
  test("after the last event, with 204", async () => {
    const { url, asked } = await bytesServer((socket) => socket.end(over))
    expect(await read(streamOf(url))).toEqual([])
    expect(asked()).toBe(1)
  })

  test("and tells of each lost connection before it tries again", async () => {
    const { url } = await bytesServer((socket, head) =>
      socket.end(afterOf(head) === 2 ? over : `${streamHead}${frames(afterOf(head) + 1, afterOf(head) + 1)}`),
    )
    const lost: string[] = []
    expect(await read(streamOf(url, { onLost: ({ code }) => lost.push(code) }))).toEqual([1, 2])
    expect(lost).toEqual(["admission_unavailable", "admission_unavailable"])
  })

  test("with the end of the followed Session, without asking again, and not with that of another one", async () => {
    const other = "ses_01900000-0000-7000-8000-0000000000ff"
    const closed = { type: "session_closed", turnId: undefined }
    const { url, asked } = await bytesServer((socket) =>
      socket.write(`${streamHead}${frame(1, { ...closed, sessionId: other })}${frame(2)}${frame(3, closed)}`),
    )
    expect(await read(streamOf(url, { tree: true }))).toEqual([1, 2, 3])
    expect(asked()).toBe(1)
  })

  test("when its loop does, and its connection with it", async () => {
    const closed = Promise.withResolvers<void>()
    const { url, connections } = await bytesServer((socket) => {
      socket.on("close", () => closed.resolve())
      socket.write(`${streamHead}${frames(1, 3)}`)
    })
    for await (const { sequence } of streamOf(url)) if (sequence === 2) break
    await closed.promise
    expect(connections()).toBe(0)
  })

  test("when it is returned from while it waits for an event, without waiting on", async () => {
    const closed = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const { url } = await bytesServer((socket) => {
      socket.on("close", () => closed.resolve())
      socket.write(`${streamHead}:\n\n`, () => begun.resolve())
    })
    const iterator = streamOf(url)[Symbol.asyncIterator]()
    const next = iterator.next()
    await begun.promise
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined })
    expect(await next).toEqual({ done: true, value: undefined })
    await closed.promise
  })

  test.each(["its own signal", "the client's"])(
    "without an error when %s aborts: waiting, busy, between connections, before",
    async (whose) => {
      const time = manualTime()
      const open = (fake: ReturnType<typeof written>, signal: AbortSignal) => {
        const transport = transportTo("http://h", fake.ports, whose === "the client's" ? { signal } : {})
        const options = whose === "the client's" ? {} : { signal }
        return createSessions(transport).handle(sessionId).events.stream(options)
      }

      const waiting = written(time)
      const first = new AbortController()
      const seen = read(open(waiting, first.signal))
      await until(() => waiting.opened.length === 1)
      waiting.opened[0]?.write(frame(1))
      await time.waiting(45_000)
      first.abort(new Error("enough"))
      expect(await seen).toEqual([1])
      await until(() => waiting.cancelled() === 1)

      const busy = written(time)
      const second = new AbortController()
      const taken: number[] = []
      const iterable = open(busy, second.signal)
      const loop = (async () => {
        for await (const { sequence } of iterable) {
          taken.push(sequence)
          second.abort()
          // The connection is closed while the loop is still busy.
          await until(() => busy.cancelled() === 1)
        }
      })()
      await until(() => busy.opened.length === 1)
      busy.opened[0]?.write(frames(1, 3))
      await loop
      expect(taken).toEqual([1])

      const between = written(time)
      const third = new AbortController()
      const empty = read(open(between, third.signal))
      await until(() => between.opened.length === 1)
      between.opened[0]?.end()
      await time.waiting(187.5)
      third.abort()
      expect(await empty).toEqual([])

      const before = written(time)
      expect(await read(open(before, AbortSignal.abort()))).toEqual([])
      expect(before.opened).toEqual([])
      expect(time.timers()).toBe(0)
    },
  )

  test("with `unauthorized` when the key is revoked, and with any other refusal that will not pass", async () => {
    for (const [code, status] of [
      ["unauthorized", 401],
      ["not_found", 404],
      ["permission_denied", 403],
    ] as const) {
      const server = serve((_, number) =>
        number === 0 ? new Response(frames(1, 2), eventStream) : refusal(code, status),
      )
      closers.push(server.close)
      const seen: number[] = []
      const loop = async () => {
        for await (const { sequence } of streamOf(server.url)) seen.push(sequence)
      }
      expect(await failureOf(loop())).toMatchObject({ code, status })
      expect(seen).toEqual([1, 2])
      expect(server.seen).toHaveLength(2)
    }
  })

  test.each([
    ["a page", () => new Response("<html></html>"), "no event stream"],
    ["JSON", () => json({}), "no event stream"],
    ["no JSON in an event", () => new Response("data: x\n\n", eventStream), "an event is not JSON"],
    [
      "an event without a place",
      () => new Response("data: {}\n\n", eventStream),
      '"cursor" of an event is required',
    ],
    [
      "an event of a known type in another form",
      () => new Response(frame(1, { text: 7 }), eventStream),
      '"text" of an event must be a string',
    ],
    [
      "an event beyond every size",
      () => new Response("data: ".padEnd(4_300_000, "x"), eventStream),
      "larger",
    ],
  ])("with an error that says so when what comes is %s", async (_, answer, message) => {
    const server = serve(answer)
    closers.push(server.close)
    const error = await failureOf(read(streamOf(server.url)))
    expect(error).toMatchObject({ name: "HelmrConnectionError", reason: "unexpected_answer" })
    expect(String(error)).toContain(message)
  })

  test("with an argument that is none, refused by name", async () => {
    const { url, asked } = await bytesServer((socket) => socket.end(over))
    for (const giveUpAfterMs of [0, Number.NaN])
      expect(await failureOf(read(streamOf(url, { giveUpAfterMs })))).toMatchObject({
        field: "giveUpAfterMs",
      })
    expect(await failureOf(read(streamOf(url, { after: "" })))).toMatchObject({ field: "after" })
    expect(asked()).toBe(0)
  })
})

describe("a connection that is not there any more", () => {
  test("is replaced after 45 s of silence, and not before; a comment is a sign of life", async () => {
    const time = manualTime()
    const fake = written(time)
    const abort = new AbortController()
    const seen = read(streamOf("http://h", { signal: abort.signal }, fake.ports))
    await until(() => fake.opened.length === 1)
    fake.opened[0]?.write(frame(1))
    await time.waiting(45_000)
    time.advance(44_999)
    fake.opened[0]?.write(":\n\n")
    await time.waiting(45_000)
    time.advance(44_999)
    expect([fake.opened.length, fake.cancelled()]).toEqual([1, 0])
    time.advance(1)
    await time.waiting(187.5)
    expect(fake.cancelled()).toBe(1)
    time.advance(187.5)
    await until(() => fake.opened.length === 2)
    expect(fake.opened[1]?.url.searchParams.get("after")).toBe("c1")
    abort.abort()
    expect(await seen).toEqual([1])
  })

  /** Every pause ends as soon as it begins. */
  const driven = async (time: ReturnType<typeof manualTime>, settled: Promise<unknown>) => {
    let over = false
    void settled.finally(() => {
      over = true
    })
    await until(() => {
      time.advance(10)
      return over
    })
  }

  test("is given up after its time without a sign of life, with what went wrong last", async () => {
    const time = manualTime()
    const fetch = async (): Promise<Response> => {
      throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" })
    }
    const error = failureOf(read(streamOf("http://h", { giveUpAfterMs: 30_000 }, { ...time.ports, fetch })))
    await driven(time, error)
    expect(await error).toMatchObject({ reason: "unreachable", code: "admission_unavailable" })
    expect(String(await error)).toContain("ECONNREFUSED")
    expect(time.ports.now()).toBeGreaterThan(30_000)
    expect(time.ports.now()).toBeLessThan(40_000)
    expect(time.timers()).toBe(0)
  })

  test("is waited for as long as Retry-After says, but not beyond the time", async () => {
    const time = manualTime()
    let asked = 0
    const fetch = async (): Promise<Response> => {
      asked += 1
      return refusal("rate_limited", 429, { "retry-after": asked === 1 ? "20" : "3600" })
    }
    const error = failureOf(read(streamOf("http://h", { giveUpAfterMs: 60_000 }, { ...time.ports, fetch })))
    await driven(time, error)
    expect(await error).toMatchObject({ code: "rate_limited", retryAfterMs: 3_600_000 })
    expect(asked).toBe(2)
    expect(time.ports.now()).toBeGreaterThanOrEqual(20_000)
    expect(time.ports.now()).toBeLessThan(21_000)
  })
})

describe("a page of events", () => {
  test("passes over events of a later version and keeps its cursor", async () => {
    const events = [data(1), data(2, { type: "moon_rose" })]
    const server = serve(() => json({ events, nextCursor: "c2", more: false }))
    closers.push(server.close)
    const handle = createSessions(transportTo(server.url)).handle(sessionId)
    const page = await handle.events.list({ after: "c0", tree: true, limit: 2 })
    expect([page.events.map(({ sequence }) => sequence), page.nextCursor, page.more]).toEqual([
      [1],
      "c2",
      false,
    ])
    expect(server.seen[0]?.url.search).toBe("?after=c0&limit=2&tree=true")
  })

  test("with an event of a known type in another form is an error", async () => {
    const server = serve(() => json({ events: [data(1, { text: 1 })], more: false }))
    closers.push(server.close)
    const error = await failureOf(createSessions(transportTo(server.url)).handle(sessionId).events.list())
    expect(error).toMatchObject({ reason: "unexpected_answer" })
    expect(String(error)).toContain('"text" of an event must be a string')
  })
})
