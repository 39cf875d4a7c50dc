import { afterEach, describe, expect, test } from "bun:test"
import { mcpConcurrentRequestsMax, mcpRequestBodyMaxBytes } from "@computerd/protocol/limits"
import type { ToolCall } from "@computerd/runtime-mcp/endpoint/calls"
import { type Answer, type Listener, maximum, openListener, token } from "./listener.ts"
import {
  chunked,
  openRaw,
  ping,
  type RawConnection,
  type RawResponse,
  requestBytes,
  rpc,
  skillsCall,
} from "./raw.ts"

let listener: Listener | undefined
const connections: RawConnection[] = []
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.destroy()
  await listener?.endpoint.close("exited")
})

const dial = async (port: number): Promise<RawConnection> => {
  const connection = await openRaw(port)
  connections.push(connection)
  return connection
}

const served = async (connection: RawConnection): Promise<RawResponse> => {
  const response = await connection.response()
  if (response === "closed") throw new Error("closed without an answer")
  return response
}

const turn = {
  sessionId: "ses_01890a5d-ac96-774b-bcce-b302099a8057",
  turnId: "trn_01890a5d-ac96-774b-bcce-b302099a8057",
}
const waitCall = (id: string | number = 1): string =>
  rpc("tools/call", { name: "wait_turn", arguments: { ...turn, timeoutMs: 30_000 } }, id)

const spawnCall = (id: string | number = 1): string =>
  rpc("tools/call", { name: "spawn", arguments: { agent: "auditor", input: [], idempotencyKey: "k" } }, id)

const never: Answer = () => new Promise(() => undefined)

/** Calls of the receiver that a test answers when it wants to. */
const parking = () => {
  const parked: {
    readonly call: ToolCall
    readonly release: (value?: Readonly<Record<string, string>>) => void
  }[] = []
  let wake = Promise.withResolvers<void>()
  const answer: Answer = (call) =>
    new Promise((resolve) => {
      parked.push({ call, release: (value = { status: "timeout" }) => resolve({ ok: true, value }) })
      wake.resolve()
    })
  const until = async (count: number): Promise<void> => {
    while (parked.length < count) {
      await wake.promise
      wake = Promise.withResolvers<void>()
    }
  }
  return { answer, parked, until }
}

const textOf = (response: RawResponse): string => JSON.parse(response.body).result.content[0].text

describe("bodies", () => {
  const padded = (bytes: number): string => {
    const call = (padding: string) =>
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", params: { padding } })
    return call("x".repeat(bytes - call("").length))
  }

  test("R34 a body of exactly 1 MiB is served, with a length and chunked", async () => {
    listener = openListener()
    const { port } = listener.endpoint
    const body = padded(mcpRequestBodyMaxBytes)
    expect(Buffer.byteLength(body)).toBe(mcpRequestBodyMaxBytes)
    const connection = await dial(port)
    connection.send(requestBytes(port, token, { body }))
    expect((await served(connection)).status).toBe(200)
    const headers = { "Content-Length": undefined, "Transfer-Encoding": "chunked" }
    connection.send(requestBytes(port, token, { headers, body: chunked([body]) }))
    expect((await served(connection)).status).toBe(200)
  })

  test("R35 one byte more is refused with text, with a length before the body is sent", async () => {
    listener = openListener()
    const { port } = listener.endpoint
    const connection = await dial(port)
    connection.send(
      requestBytes(port, token, { headers: { "Content-Length": String(mcpRequestBodyMaxBytes + 1) } }),
    )
    const response = await served(connection)
    expect([response.status, response.body.length > 0]).toEqual([413, true])
    await connection.closed
  })

  test("R35 one byte more is refused with text, chunked and before the end of the body", async () => {
    listener = openListener()
    const { port } = listener.endpoint
    const connection = await dial(port)
    const headers = { "Content-Length": undefined, "Transfer-Encoding": "chunked" }
    connection.send(requestBytes(port, token, { headers }))
    const part = padded(64 * 1024)
    for (let sent = 0; sent <= mcpRequestBodyMaxBytes; sent += part.length)
      connection.send(`${part.length.toString(16)}\r\n${part}\r\n`)
    const response = await served(connection)
    expect([response.status, response.body.length > 0]).toEqual([413, true])
    await connection.closed
    expect(listener.endpoint.stats().open).toBe(0)
  })

  test("a body that arrives a byte at a time is served once it is whole", async () => {
    listener = openListener()
    const { port } = listener.endpoint
    const connection = await dial(port)
    for (const byte of requestBytes(port, token, { body: ping })) connection.send(Uint8Array.of(byte))
    expect((await served(connection)).status).toBe(200)
  })

  test("a peer that leaves within a body gives its place back", async () => {
    listener = openListener()
    const { port } = listener.endpoint
    const connection = await dial(port)
    connection.send(requestBytes(port, token, { body: "{", headers: { "Content-Length": "100" } }))
    while (listener.endpoint.stats().open === 0) await Bun.sleep(1)
    connection.destroy()
    while (listener.endpoint.stats().open > 0) await Bun.sleep(1)
    expect(listener.faults).toEqual([])
  })
})

describe("open requests", () => {
  test("R37 R38 64 are served at once and the 65th is refused in 10 ms with its body unread", async () => {
    const { answer, parked, until } = parking()
    listener = openListener(answer)
    const { port } = listener.endpoint
    const waiting = await Promise.all(Array.from({ length: mcpConcurrentRequestsMax }, () => dial(port)))
    for (const connection of waiting) connection.send(requestBytes(port, token, { body: waitCall() }))
    await until(mcpConcurrentRequestsMax)

    const excess = await dial(port)
    const millis: number[] = []
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const sentMs = performance.now()
      excess.send(requestBytes(port, token, { headers: { "Content-Length": "40" } }))
      const refused = await served(excess)
      millis.push(performance.now() - sentMs)
      expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "1"])
      excess.send("x".repeat(40))
    }
    expect(Math.min(...millis)).toBeLessThan(10)

    for (const { release } of parked) release()
    const responses = await Promise.all(waiting.map(served))
    expect(responses.map(({ status }) => status)).toEqual(Array(mcpConcurrentRequestsMax).fill(200))
    excess.send(requestBytes(port, token, { body: ping }))
    expect((await served(excess)).status).toBe(200)
  })

  test("R39 the 64 are counted over all descriptors together", async () => {
    const scopes = { "Bearer one": maximum, "Bearer two": maximum, "Bearer three": maximum }
    const { answer, until } = parking()
    listener = openListener(answer, { scopes })
    const { port } = listener.endpoint
    for (const bearer of ["Bearer one", "Bearer two"])
      for (let index = 0; index < mcpConcurrentRequestsMax / 2; index += 1)
        (await dial(port)).send(requestBytes(port, bearer, { body: waitCall() }))
    await until(mcpConcurrentRequestsMax)
    const third = await dial(port)
    third.send(requestBytes(port, "Bearer three", { body: ping }))
    expect((await served(third)).status).toBe(503)
  })

  test("refused methods, paths and tokens do not count among the 64", async () => {
    const { answer, until } = parking()
    listener = openListener(answer)
    const { port } = listener.endpoint
    for (let index = 0; index < mcpConcurrentRequestsMax; index += 1)
      (await dial(port)).send(requestBytes(port, token, { body: waitCall() }))
    await until(mcpConcurrentRequestsMax)
    const other = await dial(port)
    const status = async (bytes: Buffer): Promise<number> => {
      other.send(bytes)
      return (await served(other)).status
    }
    expect(await status(requestBytes(port, token, { method: "GET" }))).toBe(405)
    expect(await status(requestBytes(port, token, { method: "DELETE" }))).toBe(405)
    expect(await status(requestBytes(port, token, { path: "/.well-known/oauth-protected-resource" }))).toBe(
      404,
    )
    expect(await status(requestBytes(port, "Bearer x", { body: ping }))).toBe(401)
  })

  test("R36 a mutation that is never answered gets a result at the tool deadline, with the outcome called unknown", async () => {
    listener = openListener(never, { limits: { toolCallMs: 80, requestMs: 200 } })
    const { port } = listener.endpoint
    const connection = await dial(port)
    connection.send(requestBytes(port, token, { body: spawnCall("w") }))
    const response = await served(connection)
    expect(response.status).toBe(200)
    expect(JSON.parse(response.body)).toMatchObject({ id: "w", result: { isError: true } })
    expect(textOf(response)).toMatch(/^admission_unavailable: .*outcome is unknown.*idempotencyKey/)
    expect(listener.calls[0]?.signal.aborted).toBe(true)
    connection.send(requestBytes(port, token, { body: ping }))
    expect((await served(connection)).status).toBe(200)
  })

  test("R36 a read that is cut short is never told of a key, which its schema would refuse", async () => {
    const failing = new Error("planted")
    const cuts: readonly [name: string, answer: Answer, cut: () => unknown][] = [
      ["admission_unavailable", never, () => undefined],
      ["admission_unavailable", never, () => listener?.endpoint.close("exited")],
      ["admission_unavailable", never, () => listener?.endpoint.close("shutting_down")],
      ["internal", () => Promise.reject(failing), () => undefined],
    ]
    for (const [code, answer, cut] of cuts) {
      listener = openListener(answer, { limits: { toolCallMs: 300, requestMs: 600 } })
      const { port } = listener.endpoint
      const connection = await dial(port)
      connection.send(requestBytes(port, token, { body: waitCall() }))
      while (listener.calls.length === 0) await Bun.sleep(1)
      void cut()
      const text = textOf(await served(connection))
      expect(text).toStartWith(`${code}: `)
      expect(text).toContain("nothing was changed; repeat the same call")
      expect(text).not.toContain("idempotencyKey")
      await listener.endpoint.close("exited")
    }
  })

  test("R36 a body that is never finished gets 408 at the request deadline", async () => {
    listener = openListener(never, { limits: { toolCallMs: 40, requestMs: 80 } })
    const { port } = listener.endpoint
    const connection = await dial(port)
    connection.send(requestBytes(port, token, { body: "{", headers: { "Content-Length": "9" } }))
    expect((await served(connection)).status).toBe(408)
    await connection.closed
  })

  test("a call whose body came after the tool deadline is not made", async () => {
    listener = openListener(never, { limits: { toolCallMs: 50, requestMs: 60_000 } })
    const { port } = listener.endpoint
    const connection = await dial(port)
    const bytes = requestBytes(port, token, { body: waitCall() })
    connection.send(bytes.subarray(0, -1))
    await Bun.sleep(80)
    connection.send(bytes.subarray(-1))
    expect(textOf(await served(connection))).toMatch(/^admission_unavailable: .*nothing was done/)
    expect(listener.calls).toEqual([])
  })

  test("deadlines of several requests fall at their own times", async () => {
    listener = openListener(never, { limits: { toolCallMs: 60, requestMs: 1_000 } })
    const { port } = listener.endpoint
    const startedMs = performance.now()
    const ends = await Promise.all(
      [0, 40, 90].map(async (delayMs) => {
        const connection = await dial(port)
        await Bun.sleep(delayMs)
        const sentMs = performance.now()
        connection.send(requestBytes(port, token, { body: waitCall() }))
        await served(connection)
        return performance.now() - sentMs
      }),
    )
    for (const lastedMs of ends) expect(lastedMs).toBeGreaterThanOrEqual(55)
    expect(performance.now() - startedMs).toBeLessThan(900)
  })
})

describe("what ends", () => {
  test("R43 a dropped request aborts the signal and gives its place back; the call itself goes on", async () => {
    const { answer, parked, until } = parking()
    listener = openListener(answer)
    const { port } = listener.endpoint
    const connection = await dial(port)
    connection.send(requestBytes(port, token, { body: waitCall() }))
    await until(1)
    const { call, release } = parked[0]!
    expect(call.signal.aborted).toBe(false)
    const aborted = new Promise<void>((resolve) => call.signal.addEventListener("abort", () => resolve()))
    connection.destroy()
    await aborted
    expect(listener.endpoint.stats().open).toBe(0)
    release()
    expect(listener.faults).toEqual([])
  })

  test("closing answers calls as results and bodies with 503, then ends every socket", async () => {
    const { answer, until } = parking()
    listener = openListener(answer)
    const { port } = listener.endpoint
    const calling = await dial(port)
    calling.send(requestBytes(port, token, { body: waitCall(7) }))
    const sending = await dial(port)
    sending.send(requestBytes(port, token, { body: "{", headers: { "Content-Length": "50" } }))
    const idle = await dial(port)
    idle.send(requestBytes(port, token, { body: ping }))
    await served(idle)
    await until(1)
    while (listener.endpoint.stats().open < 2) await Bun.sleep(1)

    const closing = listener.endpoint.close("exited")
    const answered = await served(calling)
    expect(JSON.parse(answered.body)).toMatchObject({ id: 7, result: { isError: true } })
    expect(textOf(answered)).toMatch(/^admission_unavailable: this Session process has ended/)
    expect((await served(sending)).status).toBe(503)
    await closing
    await Promise.all([calling.closed, sending.closed, idle.closed])
    expect(listener.calls[0]?.signal.aborted).toBe(true)
    await expect(openRaw(port)).rejects.toThrow("ECONNREFUSED")
  })

  test("closing twice is closing once, and the port is free again", async () => {
    listener = openListener()
    const { endpoint } = listener
    const [first, second] = [endpoint.close("exited"), endpoint.close("shutting_down")]
    expect(first).toBe(second)
    await first
    const again = openListener(undefined, { port: endpoint.port })
    expect(again.endpoint.port).toBe(endpoint.port)
    await again.endpoint.close("exited")
  })

  test("a busy port is a refusal with a sentence, not an exception", async () => {
    listener = openListener()
    const { port } = listener.endpoint
    expect(() => openListener(undefined, { port })).toThrow(`cannot listen on 127.0.0.1:${port} (EADDRINUSE)`)
  })

  test("R57 authority lost while a body came in is authority_changed, and nothing is called", async () => {
    let state: "open" | "held" = "open"
    listener = openListener(undefined, { admission: () => state })
    const { port } = listener.endpoint
    const connection = await dial(port)
    const bytes = requestBytes(port, token, { body: waitCall() })
    connection.send(bytes.subarray(0, -1))
    while (listener.endpoint.stats().open === 0) await Bun.sleep(1)
    state = "held"
    connection.send(bytes.subarray(-1))
    expect(textOf(await served(connection))).toMatch(/^authority_changed: /)
    expect(listener.calls).toEqual([])
  })
})

describe("many clients", () => {
  test("R31 a tool call may be the first request of a socket", async () => {
    listener = openListener()
    const { port } = listener.endpoint
    const connection = await dial(port)
    connection.send(requestBytes(port, token, { body: skillsCall() }))
    const response = await served(connection)
    expect(response.headers["content-type"]).toBe("application/json")
    expect(response.headers["mcp-session-id"]).toBeUndefined()
    expect(JSON.parse(textOf(response)).skills).toHaveLength(1)
  })

  test("two clients that use the same ids at once never see each other's answers", async () => {
    const { answer, parked, until } = parking()
    listener = openListener(answer)
    const { port } = listener.endpoint
    const clients = await Promise.all(
      ["a", "b", "c", "d"].map(async (name) => ({ name, raw: await dial(port) })),
    )
    for (const { name, raw } of clients) {
      const before = parked.length
      raw.send(requestBytes(port, token, { body: waitCall(1) }))
      await until(before + 1)
      expect(parked[before]?.call.tool).toBe("wait_turn")
      expect(name).toBe(clients[before]!.name)
    }
    for (const index of [2, 0, 3, 1]) parked[index]!.release({ whose: clients[index]!.name })
    for (const { name, raw } of clients) {
      const response = await served(raw)
      expect(JSON.parse(response.body).id).toBe(1)
      expect(JSON.parse(textOf(response))).toEqual({ whose: name })
    }
  })

  test("id 0, negative ids, strings and the empty string come back as they were", async () => {
    listener = openListener()
    const { port } = listener.endpoint
    const connection = await dial(port)
    for (const id of [
      0,
      -1,
      Number.MAX_SAFE_INTEGER,
      "",
      "0",
      "server-discover-probe-1",
      'quote" \\ \u2028 ☃',
    ]) {
      connection.send(requestBytes(port, token, { body: rpc("ping", undefined, id) }))
      expect(JSON.parse((await served(connection)).body).id).toBe(id)
    }
  })

  test("one connection serves a thousand requests", async () => {
    listener = openListener()
    const { port } = listener.endpoint
    const connection = await dial(port)
    for (let id = 0; id < 1_000; id += 1) {
      connection.send(requestBytes(port, token, { body: skillsCall(id) }))
      expect(JSON.parse((await served(connection)).body).id).toBe(id)
    }
  })

  test("pipelined requests are each answered in order or cut off: never swapped, never run twice", async () => {
    listener = openListener(({ arguments: { turnId = "" } }) => ({ ok: true, value: { turnId } }))
    const { port } = listener.endpoint
    const connection = await dial(port)
    const bytes = [1, 2, 3].map((id) => requestBytes(port, token, { body: waitCall(id) }))
    connection.send(Buffer.concat(bytes))
    const ids: unknown[] = []
    for (let response = await connection.response(); response !== "closed"; ) {
      ids.push(JSON.parse(response.body).id)
      if (ids.length === 3) break
      response = await connection.response()
    }
    expect(ids).toEqual([1, 2, 3].slice(0, ids.length))
    expect(listener.calls.length).toBeLessThanOrEqual(3)
    const other = await dial(port)
    other.send(requestBytes(port, token, { body: ping }))
    expect((await served(other)).status).toBe(200)
  })
})
