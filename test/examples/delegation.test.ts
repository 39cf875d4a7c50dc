import { expect, test } from "bun:test"
import { auditFolder } from "../../examples/repository-audit/audit/folder.ts"
import { auditFolders, auditorsMax } from "../../examples/repository-audit/delegation/audits.ts"
import { ToolError, type ToolResult, type Tools } from "../../examples/repository-audit/delegation/tools.ts"
import { fixture } from "./fixture.ts"

type Answer = ToolResult | ToolError
interface Call {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
}

/** Stands for the Runtime MCP server: `answer` decides each call, and the calls are kept. */
const server = (answer: (call: Call, earlier: number) => Answer | Promise<Answer>) => {
  const calls: Call[] = []
  const tools: Tools = {
    call: async (name, args, signal) => {
      signal.throwIfAborted()
      const call = { name, args }
      const earlier = calls.filter((one) => JSON.stringify(one) === JSON.stringify(call)).length
      calls.push(call)
      const answered = await answer(call, earlier)
      if (answered instanceof ToolError) throw answered
      return answered
    },
  }
  return { tools, calls }
}

const folderOf = ({ args }: Call): string =>
  JSON.stringify(args["input"]).match(/"text":"([^"]*)"/)?.[1] ?? ""
const request = (folders: readonly string[], signal = new AbortController().signal) => ({
  turnId: "trn_1",
  folders,
  signal,
})
const spawned = (call: Call) => ({ sessionId: `ses_${folderOf(call)}`, turnId: "t", sequence: 1 })
const settled = (outcome: object) => ({ status: "settled", outcome })

test("a child is spawned with a key of the Turn and the folder, and waited for until it settles", async () => {
  const made = await fixture()
  const findings = await auditFolder({
    workspace: made.path,
    folder: ".",
    signal: AbortSignal.timeout(5_000),
  })
  await made.remove()
  const { tools, calls } = server((call, earlier) => {
    if (call.name === "spawn") return spawned(call)
    if (call.name === "inspect_session") return { initial_turn: { status: "queued" }, holds: [] }
    return earlier < 2 ? { status: "timeout" } : settled({ status: "completed", result: { ...findings } })
  })
  expect(await auditFolders(tools, request(["a"]))).toEqual([{ kind: "audited", findings }])
  const [spawn, ...waits] = calls.map(({ name }) => name)
  expect([spawn, ...waits.filter((name) => name !== "inspect_session")]).toEqual([
    "spawn",
    "wait_turn",
    "wait_turn",
    "wait_turn",
  ])
  expect(calls[0]?.args["idempotencyKey"]).toMatch(/^audit:trn_1:[0-9a-f]{64}$/)
})

test("what may pass later is repeated with the same key", async () => {
  const { tools, calls } = server((call, earlier) => {
    if (call.name === "wait_turn") return settled({ status: "failed", error: { code: "handler_failed" } })
    return earlier < 2 ? new ToolError("admission_unavailable", "outcome unknown") : spawned(call)
  })
  await auditFolders(tools, request(["a"]))
  const spawns = calls.filter(({ name }) => name === "spawn")
  expect(spawns).toHaveLength(3)
  expect(new Set(spawns.map(({ args }) => args["idempotencyKey"])).size).toBe(1)
})

test("one failure is reported with its code and the rest goes on", async () => {
  const outcomes: Readonly<Record<string, Answer>> = {
    ses_lost: settled({ status: "interrupted", error: { code: "process_lost", message: "gone" } }),
    ses_odd: settled({ status: "completed", result: { folder: 1 } }),
    ses_blocked: new ToolError("capacity_wait_blocked", "no room"),
  }
  const { tools } = server((call) => {
    if (call.name === "wait_turn") return outcomes[String(call.args["sessionId"])] ?? settled({})
    return folderOf(call) === "denied" ? new ToolError("runtime_mcp_denied", "no") : spawned(call)
  })
  const folders = ["lost", "odd", "blocked", "denied"]
  const codes = (await auditFolders(tools, request(folders))).map((outcome) =>
    outcome.kind === "failed" ? [outcome.folder, outcome.code] : outcome,
  )
  expect(codes).toEqual([
    ["lost", "process_lost"],
    ["odd", "internal"],
    ["blocked", "capacity_wait_blocked"],
    ["denied", "runtime_mcp_denied"],
  ])
})

test("a child that is held for recovery, or never starts, is given up", async () => {
  const gap = { reason: "init failed: no luck", turn_id: null, generation: 1 }
  const sessions: Readonly<Record<string, ToolResult>> = {
    ses_held: { initial_turn: { status: "queued" }, holds: [{ kind: "recovery", recovery_gap: gap }] },
    ses_never: { initial_turn: { status: "queued" }, holds: [] },
  }
  const { tools } = server((call) => {
    if (call.name === "spawn") return spawned(call)
    return call.name === "wait_turn"
      ? { status: "timeout" }
      : (sessions[String(call.args["sessionId"])] ?? {})
  })
  expect(await auditFolders(tools, request(["held", "never"]))).toEqual([
    { kind: "failed", folder: "held", code: "process_lost", message: "init failed: no luck" },
    { kind: "failed", folder: "never", code: "not_started", message: "it was still queued after 300 s" },
  ])
})

test("only a few auditors run at once", async () => {
  let running = 0
  let most = 0
  const { tools } = server(async (call) => {
    if (call.name === "wait_turn") {
      running -= 1
      return settled({ status: "failed", error: { code: "handler_failed" } })
    }
    running += 1
    most = Math.max(most, running)
    await Promise.resolve()
    return spawned(call)
  })
  await auditFolders(tools, request(Array.from({ length: 20 }, (_, n) => `f${n}`)))
  expect(most).toBe(auditorsMax)
})

test("an interrupted Turn stops waiting", async () => {
  const stop = new AbortController()
  const { tools } = server((call) => {
    if (call.name === "spawn") return spawned(call)
    stop.abort(new Error("interrupted"))
    return { status: "timeout" }
  })
  expect(auditFolders(tools, request(["a", "b"], stop.signal))).rejects.toThrow("interrupted")
})
