import { afterEach, describe, expect, test } from "bun:test"
import { type Refusal, type RefusalClass, refusals } from "@computerd/runtime-mcp/endpoint/refusals"
import { type Listener, openListener, token } from "./listener.ts"
import { provocations } from "./provoke.ts"
import { openRaw, ping, type RawConnection, requestBytes, rpc } from "./raw.ts"

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

const park = async (parked: number, port: number): Promise<void> => {
  const body = rpc("tools/call", {
    name: "inspect_session",
    arguments: { sessionId: "ses_01890a5d-ac96-774b-bcce-b302099a8057" },
  })
  for (let index = 0; index < parked; index += 1) (await dial(port)).send(requestBytes(port, token, { body }))
  while ((listener?.endpoint.stats().open ?? 0) < parked) await Bun.sleep(1)
}

const numbers: Partial<Record<RefusalClass, string>> = {
  unauthorized: "R7 R56",
  held: "R57",
  shutting_down: "R57",
  too_many_requests: "R38",
  body_too_large: "R35",
  unknown_path: "R6",
}

/** What could not be read, or has no id that could be repeated. */
const withoutId = new Set<RefusalClass>(["invalid_utf8", "invalid_json", "batch", "invalid_id"])

describe("every class of the refusal table is what a client receives", () => {
  const classes = Object.entries(refusals) as readonly (readonly [RefusalClass, Refusal])[]
  for (const [name, refusal] of classes) {
    test(`${numbers[name] ?? ""} ${name}: ${refusal.status}, ${refusal.connection}`.trim(), async () => {
      const { request, listener: overrides = {}, answer, parked = 0 } = provocations[name]
      listener = openListener(answer, overrides)
      const { port } = listener.endpoint
      await park(parked, port)
      const connection = await dial(port)
      connection.send(requestBytes(port, token, request(port)))
      const response = await connection.response()
      if (response === "closed") throw new Error("closed without an answer")
      expect(response.status).toBe(refusal.status)
      expect(listener.endpoint.stats().refused[name]).toBe(1)
      if (refusal.kind === "http") {
        expect(response.headers["content-type"]).toBe("text/plain; charset=utf-8")
        expect(response.body).toBe(`${refusal.text}\n`)
        for (const [header, value] of Object.entries(refusal.headers ?? {}))
          expect(response.headers[header.toLowerCase()]).toBe(value)
      } else {
        expect(response.headers["content-type"]).toBe("application/json")
        const answered = JSON.parse(response.body)
        expect(answered.jsonrpc).toBe("2.0")
        expect(answered.error.code).toBe(refusal.code)
        expect(answered.error.message).toBe(refusal.message)
        expect(answered.id).toBe(withoutId.has(name) ? null : 1)
      }
      expect(response.headers["mcp-session-id"]).toBeUndefined()
      if (refusal.connection === "close") return connection.closed
      connection.send(requestBytes(port, token, { body: ping, path: "/other" }))
      const next = await connection.response()
      expect(next === "closed" ? next : next.status).toBe(404)
    })
  }
})
