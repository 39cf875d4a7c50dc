/** The programs of the reference, run by real Session processes against the real MCP endpoint. */
import { afterEach, expect, test } from "bun:test"
import { join } from "node:path"
import type { Scope } from "@computerd/protocol/scope"
import { type Answer, type Listener, openListener, token } from "../runtime-mcp/endpoint/listener.ts"
import { hosts } from "../session-host/hosts.ts"
import { contextData, type HostProcess, newId } from "../session-host/process.ts"

const { file } = hosts()
const programs = join(import.meta.dir, "../fixtures/sdk")

const listeners: Listener[] = []
afterEach(async () => {
  await Promise.all(listeners.splice(0).map((one) => one.endpoint.close("exited")))
})

const listen = (answer?: Answer, scopes?: Readonly<Record<string, Scope>>): Listener => {
  const listener = openListener(answer, scopes === undefined ? {} : { scopes })
  listeners.push(listener)
  return listener
}

/** Initializes `host` and answers its first request for a connection. */
const connect = async (host: HostProcess, { endpoint, headers }: Listener): Promise<unknown> => {
  host.supervisor.send({ type: "initialize", context: contextData() })
  const { requestId, policy } = await host.supervisor.next("mcp_connection")
  const value = { url: endpoint.url, headers: { ...headers } }
  host.supervisor.send({ type: "mcp_connection_result", requestId, result: { ok: true, value } })
  await host.supervisor.next("ready")
  return policy
}

test("R176 R177 the delegating program spawns, waits over timeouts and returns the outcome, one client for all Turns", async () => {
  const [sessionId, turnId] = [newId("ses"), newId("trn")]
  let waits = 0
  const listener = listen(({ tool }) => {
    if (tool === "spawn") return { ok: true, value: { sessionId, turnId, sequence: 1 } }
    waits += 1
    if (waits % 3 !== 0) return { ok: true, value: { status: "timeout" } }
    return { ok: true, value: { status: "settled", outcome: { status: "completed", result: waits } } }
  })
  const host = await file(join(programs, "delegation.ts"), { agent: "coordinator" })
  await connect(host, listener)
  for (const round of [1, 2]) {
    const id = host.turn("review this")
    expect(await host.settled(id)).toEqual({
      status: "completed",
      result: { status: "completed", result: round * 3 },
    })
    const [spawn, ...rest] = listener.calls.slice(-4)
    expect(spawn).toMatchObject({
      tool: "spawn",
      arguments: {
        agent: "reviewer",
        input: [{ type: "text", text: "review this" }],
        idempotencyKey: `review:${id}`,
      },
    })
    expect(listener.faults).toEqual([])
    for (const wait of rest)
      expect(wait).toMatchObject({ tool: "wait_turn", arguments: { sessionId, turnId, timeoutMs: 30_000 } })
  }
  expect(host.supervisor.of("mcp_connection")).toHaveLength(1)
}, 60_000)

const narrowed: Scope = {
  kind: "finite",
  allow: [
    { operation: "spawn", agents: ["reviewer"], computer: "new" },
    { operation: "inspect_session", agents: ["reviewer"] },
  ],
}
const standIns = { "@anthropic-ai/claude-agent-sdk": join(programs, "claude-stand-in.ts") }

test("R234 R235 a native client gets the narrowed connection spread into its configuration, and lacks what was not asked for", async () => {
  const listener = listen(undefined, { [token]: narrowed })
  const host = await file(join(programs, "execution-policies.ts"), { agent: "coordinator", standIns })
  expect(await connect(host, listener)).toEqual({
    allow: [
      { operation: "spawn", agents: ["reviewer"], computer: "new" },
      { operation: "inspect_session", agents: ["reviewer"] },
    ],
  })
  const outcome = await host.run("look around")
  if (outcome.status !== "completed") throw new Error(JSON.stringify(outcome))
  expect(outcome.result).toBeNull()
  const [prompt, type, tools] = JSON.parse(outcome.response?.[0]?.text ?? "[]")
  expect([prompt, type]).toEqual(["look around", "http"])
  expect(tools).toContain("spawn")
  expect(tools).toContain("inspect_session")
  expect(tools).not.toContain("inspect_turn")
  expect(tools).not.toContain("wait_turn")
}, 60_000)

test("a native client is stopped by the Turn's cancel listener, and the Turn is interrupted, not failed", async () => {
  const listener = listen(undefined, { [token]: narrowed })
  const host = await file(join(programs, "execution-policies.ts"), { agent: "coordinator", standIns })
  await connect(host, listener)
  const turnId = host.turn("wait to be stopped")
  await host.supervisor.next("turn_started")
  host.supervisor.send({ type: "cancel_turn", turnId, status: "interrupted" })
  expect((await host.settled(turnId)).status).toBe("interrupted")
}, 60_000)

test("R237 an Agent with an empty maximum writes, responds, asks and settles without a connection", async () => {
  const host = await file(join(programs, "without-mcp.ts"), { agent: "quiet" })
  await host.ready()
  const turnId = host.turn("hello")
  const { requestId } = await host.supervisor.next("ask")
  host.supervisor.send({
    type: "ask_result",
    requestId,
    result: { ok: true, value: { questionId: newId("qst"), answer: [{ type: "text", text: "yes" }] } },
  })
  expect(await host.settled(turnId)).toEqual({
    status: "completed",
    result: { answer: "yes" },
    response: [{ type: "text", text: "done" }],
  })
  expect(host.supervisor.of("turn_output").map((body) => body.text)).toEqual(["working"])
  expect(host.supervisor.of("mcp_connection")).toEqual([])
})
