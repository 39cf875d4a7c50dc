/** Tool calls from an MCP client to the control plane and back, through a real supervisor, at the instants that hurt. */
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test"
import { join } from "node:path"
import type { McpConnection } from "@computerd/protocol/channel"
import type { Status } from "@computerd/protocol/operator"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Computer } from "./computer.ts"

let computer: Computer
let clients: Client[] = []
let made: McpConnection

beforeAll(async () => {
  computer = await Computer.create({ fake: { leaseMs: 2_000, renewMs: 100 } })
  await computer.startAttached()
  const [connected] = await computer.connect(computer.assign(), undefined)
  if (connected?.ok !== true) throw new Error("no connection")
  made = connected.value
})

afterEach(async () => {
  const { hooks } = computer.controlPlane
  hooks.admit = undefined
  hooks.renew = undefined
  hooks.attach = undefined
  await Promise.all(clients.map((client) => client.close()))
  clients = []
  await computer.untilStatus(({ link, lease }) => link.state === "attached" && lease.state === "held")
})

afterAll(() => computer.close())

const connect = async (): Promise<Client> => {
  const client = new Client({ name: "test", version: "1" })
  const transport = new StreamableHTTPClientTransport(new URL(made.url), {
    requestInit: { headers: { ...made.headers } },
  })
  await client.connect(transport as Parameters<typeof client.connect>[0])
  clients.push(client)
  return client
}

const call = async (client: Client, name: string, args: Record<string, unknown>) => {
  const result = await client.callTool({ name, arguments: args })
  const content = result.content as { type: string; text: string }[]
  expect(content.length).toBe(1)
  return { failed: result.isError === true, text: content[0]!.text }
}

const spawn = (key: string) => ({
  agent: "helper",
  input: [{ type: "text", text: "go" }],
  idempotencyKey: key,
})
const child = { sessionId: "ses_1", turnId: "trn_1", sequence: 1 }

test("a call carries the Session, its generation and the presented scope to the control plane", async () => {
  computer.controlPlane.answer = () => ({ ok: true, value: child })
  const { failed, text } = await call(await connect(), "spawn", spawn("whole"))
  expect({ failed, value: JSON.parse(text) }).toEqual({ failed: false, value: child })
  const { request, epoch } = computer.controlPlane.count("admit").at(-1)!
  expect<number>(epoch).toBe(1)
  expect<unknown>(request).toMatchObject({ generation: 1, tool: "spawn", arguments: spawn("whole") })
  expect<unknown>(request.scope).toMatchObject({ kind: "finite" })
})

test("R44 R175 a call whose link breaks after the commit says so, and the same key gives the first outcome", async () => {
  let decided = 0
  computer.controlPlane.answer = () => {
    decided += 1
    return { ok: true, value: child }
  }
  computer.controlPlane.hooks.admit = (frame, connection) => {
    computer.controlPlane.decide(frame)
    connection.cut()
    return "handled"
  }
  const client = await connect()
  const cut = await call(client, "spawn", spawn("cut"))
  expect(cut.failed).toBe(true)
  expect(cut.text).toStartWith("admission_unavailable: ")
  expect(cut.text).toContain("same idempotencyKey")
  computer.controlPlane.hooks.admit = undefined
  await computer.untilStatus(({ link }) => link.state === "attached")
  const again = await call(client, "spawn", spawn("cut"))
  expect({ failed: again.failed, value: JSON.parse(again.text) }).toEqual({ failed: false, value: child })
  expect(decided).toBe(1)
})

test("R173 with the link down a mutation is refused at once and a wait keeps its time", async () => {
  const client = await connect()
  const port = await computer.controlPlane.down()
  await computer.untilStatus(({ link }) => link.state !== "attached")
  const refused = await call(client, "spawn", spawn("down"))
  expect(refused.text).toStartWith("admission_unavailable: ")
  const startedAt = performance.now()
  const waited = await call(client, "wait_turn", { sessionId: session(), turnId: turn(), timeoutMs: 300 })
  expect({ failed: waited.failed, value: JSON.parse(waited.text) }).toEqual({
    failed: false,
    value: { status: "timeout" },
  })
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(295)
  computer.controlPlane.up(port)
})

test("R88 the skill is read while the link is down and the lease is held", async () => {
  const client = await connect()
  const port = await computer.controlPlane.down()
  await computer.untilStatus(({ link }) => link.state !== "attached")
  const before = computer.controlPlane.count("admit").length
  const { failed, text } = await call(client, "skills", {})
  expect(failed).toBe(false)
  expect(text).toContain("helmr-runtime")
  computer.controlPlane.up(port)
  await computer.untilStatus(({ link }) => link.state === "attached")
  expect(computer.controlPlane.count("admit").length).toBe(before)
})

test("without a lease every request gets 503, and the getter waits for the next lease", async () => {
  const { hooks } = computer.controlPlane
  const [go, answer] = [computer.proofFile(), computer.proofFile()]
  const caller = computer.assign()
  computer.dispatch(caller, [
    { do: "wait_for_file", file: go },
    { do: "connect", file: answer },
  ])
  await computer.event("turn_started", (event) => event.sessionId === caller)
  hooks.renew = () => "handled"
  hooks.attach = () => "handled"
  computer.controlPlane.cut()
  await computer.untilStatus(({ lease }) => lease.state === "lapsed")
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" }
  const refused = await fetch(made.url, {
    method: "POST",
    headers: {
      ...made.headers,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
    },
    body: JSON.stringify(ping),
  })
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"])
  await Bun.write(go, "")
  await Bun.sleep(100)
  expect(await Bun.file(answer).exists()).toBe(false)
  hooks.attach = undefined
  hooks.renew = undefined
  computer.controlPlane.cut()
  await computer.untilStatus(({ lease }) => lease.state === "held")
  await computer.event("turn_settled", (event) => event.sessionId === caller)
  expect(await Bun.file(answer).json()).toMatchObject({ ok: true })
  await connect()
})

test("without a lease a process that is starting stands still, and with the next one it starts and gets its Turn", async () => {
  const { hooks } = computer.controlPlane
  const patient = computer.assign("patient")
  const proof = computer.proofFile()
  const turnId = computer.dispatch(patient, [{ do: "init_result", file: proof }])
  const own = ({ sessions }: Status) => sessions.find(({ id }) => id === patient)
  await computer.untilStatus((status) => own(status)?.pid != null)
  hooks.renew = () => "handled"
  hooks.attach = () => "handled"
  computer.controlPlane.cut()
  await computer.untilStatus(({ lease }) => lease.state === "lapsed")
  await Bun.write(join(computer.directory, "workspace/ready"), "")
  await Bun.sleep(100)
  expect(own(await computer.status())).toMatchObject({ state: "starting", turnId: null })
  expect(await Bun.file(proof).exists()).toBe(false)
  hooks.attach = undefined
  hooks.renew = undefined
  computer.controlPlane.cut()
  const settled = await computer.event("turn_settled", (event) => event.turnId === turnId)
  expect(settled.outcome.status).toBe("completed")
  expect(await Bun.file(proof).exists()).toBe(true)
})

const session = (): string => "ses_018f0000-0000-7000-8000-000000000001"
const turn = (): string => "trn_018f0000-0000-7000-8000-000000000001"
