import { expect, test } from "bun:test"
import type { McpConnection } from "@computerd/protocol/channel"
import { policyMaxBytes } from "@computerd/protocol/limits"
import { hosts } from "./hosts.ts"
import { contextData, newId, program } from "./process.ts"

const { start, worker } = hosts()

const connection: McpConnection = {
  url: "http://127.0.0.1:20001/mcp",
  headers: { Authorization: "Bearer abc" },
}

const attempt = `const attempt = (work: () => unknown) => Promise.resolve().then(work).then(() => "ok", (error) => error instanceof HelmrError ? error.code : String(error))`

test("init and turn see Session, Computer, Deployment and recovery, and nothing that they can change", async () => {
  const host = await start(
    program(
      `init: ({ session, computer, deployment, recovery }) => ({ session, computer, deployment, recovery }),
       turn: (_turn, { initResult, session, computer, deployment, recovery }) => ({
         init: initResult,
         turn: { session, computer, deployment, recovery },
         frozen: [session, computer, deployment, recovery].map((value) => Object.isFrozen(value)),
       })`,
    ),
  )
  const context = contextData({
    session: { id: host.sessionId, key: "ticket-7" },
    recovery: { kind: "reconstructed", reason: "killed by signal SIGKILL" },
  })
  await host.ready(context)
  expect(await host.run()).toEqual({
    status: "completed",
    result: { init: context, turn: context, frozen: [true, true, true, true] } as never,
  })
})

test("R183 a child's init sees its parent; a root has none", async () => {
  const source = program(`init: (ctx) => ctx.session.parent ?? "root", turn: (_turn, ctx) => ctx.initResult`)
  const parent = newId("ses")
  const child = await (await start(source)).ready({ session: { id: newId("ses"), parent } })
  expect(await child.run()).toEqual({ status: "completed", result: parent })
  const root = await (await start(source)).ready({ session: { id: newId("ses") } })
  expect(await root.run()).toEqual({ status: "completed", result: "root" })
})

test("init runs once, and the Agent without init has no initResult", async () => {
  const counted = await worker(
    `init: () => ++inits, turn: (_turn, ctx) => [inits, ctx.initResult]`,
    "let inits = 0",
  )
  await counted.run()
  expect(await counted.run()).toEqual({ status: "completed", result: [1, 1] })
  const bare = await worker(`turn: (_turn, ctx) => String(ctx.initResult)`)
  expect(await bare.run()).toEqual({ status: "completed", result: "undefined" })
})

test("R3 R5 R8 init gets a connection: url and Authorization only, deeply readonly", async () => {
  const host = await start(
    program(
      `async init(ctx) {
         const options = await ctx.mcp.getConnectionOptions()
         const writes = [
           () => { (options as { url: string }).url = "x" },
           () => { (options.headers as { Authorization: string }).Authorization = "x" },
           () => { delete (options as { url?: string }).url },
         ].map((write) => { try { write(); return "changed" } catch { return "refused" } })
         return { options, writes }
       },
       turn: (_turn, ctx) => ctx.initResult`,
    ),
  )
  host.supervisor.send({ type: "initialize", context: contextData() })
  const asked = await host.supervisor.next("mcp_connection")
  expect("policy" in asked).toBe(false)
  const { requestId } = asked
  host.supervisor.send({
    type: "mcp_connection_result",
    requestId,
    result: { ok: true, value: connection },
  })
  await host.supervisor.next("ready")
  expect(await host.run()).toEqual({
    status: "completed",
    result: { options: connection, writes: ["refused", "refused", "refused"] } as never,
  })
})

test("R4 an Agent with turn alone gets a connection there", async () => {
  const host = await worker(`turn: (_turn, ctx) => ctx.mcp.getConnectionOptions({ allow: [] })`)
  const turnId = host.turn()
  const { requestId, policy } = await host.supervisor.next("mcp_connection")
  expect(policy).toEqual({ allow: [] })
  host.supervisor.send({
    type: "mcp_connection_result",
    requestId,
    result: { ok: true, value: connection },
  })
  expect(await host.settled(turnId)).toEqual({ status: "completed", result: connection as never })
})

test("R40 the getter works between Turns", async () => {
  const host = await worker(
    `init: (ctx) => { setTimeout(() => ctx.mcp.getConnectionOptions().then((options) => { got = options.url }), 5) },
     turn: () => got`,
    `let got = ""`,
  )
  const { requestId } = await host.supervisor.next("mcp_connection")
  expect(host.supervisor.of("turn_started")).toEqual([])
  host.supervisor.send({
    type: "mcp_connection_result",
    requestId,
    result: { ok: true, value: connection },
  })
  expect(await host.run()).toEqual({ status: "completed", result: connection.url })
})

test("answers reach the request that they belong to, whatever their order", async () => {
  const host = await worker(
    `turn: (_turn, ctx) => Promise.all(["a", "b", "c"].map(async (agent) =>
      (await ctx.mcp.getConnectionOptions({ allow: [{ operation: "enqueue", agents: [agent] }] })).url))`,
  )
  const turnId = host.turn()
  await host.supervisor.next("mcp_connection", 2)
  for (const { requestId, policy } of host.supervisor.of("mcp_connection").toReversed())
    host.supervisor.send({
      type: "mcp_connection_result",
      requestId,
      result: {
        ok: true,
        value: { ...connection, url: (policy as { allow: { agents: string[] }[] }).allow[0]!.agents[0]! },
      },
    })
  expect(await host.settled(turnId)).toEqual({ status: "completed", result: ["a", "b", "c"] })
})

test("a refused connection rejects with the code and field of the refusal", async () => {
  const host = await worker(
    `async turn(_turn, ctx) {
      try { await ctx.mcp.getConnectionOptions(); return "got it" } catch (error) {
        if (!(error instanceof HelmrError) || !(error instanceof Error)) return "not ours"
        return [error.name, error.code, error.field, error.message]
      }
    }`,
  )
  const turnId = host.turn()
  const { requestId } = await host.supervisor.next("mcp_connection")
  const error = { code: "runtime_mcp_denied", message: "beyond the maximum", field: "allow[0]" } as const
  host.supervisor.send({ type: "mcp_connection_result", requestId, result: { ok: false, error } })
  expect(await host.settled(turnId)).toEqual({
    status: "completed",
    result: ["HelmrError", "runtime_mcp_denied", "allow[0]", "beyond the maximum"],
  })
})

test.each([null, "*", {}, { allow: "*" }, { allow: [{ operation: "*" }] }, 0, false, ""])(
  "R12 whatever was passed is judged by the supervisor: %j is no request for the maximum",
  async (policy) => {
    const host = await worker(
      `turn: (_turn, ctx) => attempt(() => ctx.mcp.getConnectionOptions(${JSON.stringify(policy)} as never))`,
      attempt,
    )
    const turnId = host.turn()
    const asked = await host.supervisor.next("mcp_connection")
    expect("policy" in asked).toBe(true)
    expect(asked.policy).toEqual(policy)
    const error = { code: "invalid_runtime_mcp_policy", message: "malformed" } as const
    host.supervisor.send({
      type: "mcp_connection_result",
      requestId: asked.requestId,
      result: { ok: false, error },
    })
    expect(await host.settled(turnId)).toEqual({
      status: "completed",
      result: "invalid_runtime_mcp_policy",
    })
  },
)

test.each([
  ["a Set that JSON would empty", `{ allow: new Set() }`],
  ["a function", `() => 1`],
  ["a cycle", `(() => { const a: unknown[] = []; a.push(a); return a })()`],
  ["a policy above the limit", `{ allow: ["${"a".repeat(10)}".repeat(${policyMaxBytes / 10})] }`],
])("R12 a policy that cannot travel unchanged is refused before it leaves: %s", async (_name, policy) => {
  const host = await worker(
    `turn: (_turn, ctx) => attempt(() => ctx.mcp.getConnectionOptions(${policy} as never))`,
    attempt,
  )
  expect(await host.run()).toEqual({ status: "completed", result: "invalid_runtime_mcp_policy" })
  expect(host.supervisor.of("mcp_connection")).toEqual([])
})

test("R225 a policy that is refused before it leaves names its field, as one that the supervisor refuses does", async () => {
  const host = await worker(
    `turn: async (_turn, ctx) => {
      const policies: unknown[] = [
        { allow: [undefined] },
        { allow: [{ operation: "enqueue", agents: new Set(["a"]) }] },
        { allow: [{ operation: "enqueue", agents: [() => "a"] }] },
        new Map([["allow", []]]),
        { allow: ["${"a".repeat(10)}".repeat(${policyMaxBytes / 10})] },
      ]
      const refused = (policy: unknown) =>
        ctx.mcp.getConnectionOptions(policy as never).then(() => "ok", (error) => [error.code, error.field])
      return Promise.all(policies.map(refused))
    }`,
  )
  const fields = ["allow[0]", "allow[0].agents", "allow[0].agents[0]", "policy", "policy"]
  expect(await host.run()).toEqual({
    status: "completed",
    result: fields.map((field) => ["invalid_runtime_mcp_policy", field]),
  })
})

test("R23 once shutdown has begun the getter rejects, in an abort listener too", async () => {
  const host = await worker(
    `async turn(turn, ctx) {
      const waiting = attempt(() => ctx.mcp.getConnectionOptions())
      const inListener = new Promise<string>((resolve) =>
        ctx.signal.addEventListener("abort", () => resolve(attempt(() => ctx.mcp.getConnectionOptions()))))
      await turn.output.write("begun")
      await turn.output.write(JSON.stringify([await waiting, await inListener, await attempt(() => ctx.mcp.getConnectionOptions())]))
    }`,
    attempt,
  )
  host.turn()
  await host.supervisor.next("turn_output")
  host.supervisor.send({ type: "shutdown", graceMs: 5_000 })
  expect(JSON.parse((await host.supervisor.next("turn_output", 1)).text)).toEqual([
    "session_shutdown",
    "session_shutdown",
    "session_shutdown",
  ])
  expect(host.supervisor.of("mcp_connection")).toHaveLength(1)
  expect(await host.exited()).toBe(0)
})

test("R81 a child cannot ask: root_session_required, and nothing leaves the process", async () => {
  const host = await start(program(`turn: (turn) => attempt(() => turn.ask("may I?"))`, attempt))
  await host.ready({ session: { id: host.sessionId, parent: newId("ses") } })
  expect(await host.run()).toEqual({ status: "completed", result: "root_session_required" })
  expect(host.supervisor.of("ask")).toEqual([])
})

test("a program that asks in a loop without waiting is stopped at a bound", async () => {
  const host = await worker(
    `async turn(_turn, ctx) {
      const all = Array.from({ length: 1_200 }, () => attempt(() => ctx.mcp.getConnectionOptions()))
      return (await Promise.all(all.slice(1_000)))
    }`,
    attempt,
  )
  const turnId = host.turn()
  expect(await host.settled(turnId)).toEqual({
    status: "completed",
    result: Array.from({ length: 200 }, () => "admission_unavailable"),
  })
})
