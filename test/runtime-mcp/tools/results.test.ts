import { describe, expect, test } from "bun:test"
import { ToolName } from "@computerd/protocol/tools"
import { tools } from "@computerd/runtime-mcp/tools/catalogue"
import type { Tool } from "@computerd/runtime-mcp/tools/tool"

const uuid = "01890a5d-ac96-774b-bcce-b302099a8057"
const at = "2026-11-30T12:00:00.000Z"
const ses = `ses_${uuid}`
const trn = `trn_${uuid}`
const dep = `dep_${uuid}`
const cmp = `cmp_${uuid}`
const hld = `hld_${uuid}`
const ctl = `ctl_${uuid}`
const response = [{ type: "text", text: "done" }]
const error = { code: "handler_failed", message: "no" }

const hold = { id: hld, session_id: ses, kind: "interrupt", created_at: at, can_release: true }
const gap = { reason: "process_lost", turn_id: null, generation: 2 }
const session = {
  id: ses,
  agent: "auditor",
  template: "auditor",
  deployment_id: dep,
  computer_id: cmp,
  root_session_id: ses,
  parent_session_id: null,
  requester_session_id: null,
  initial_turn: { id: trn, status: "running" },
  status: "open",
  close_after_idle_ms: null,
  idle_since: null,
  holds: [hold, { ...hold, kind: "recovery", recovery_gap: gap }],
  created_at: at,
}
const computer = {
  id: cmp,
  template: "auditor",
  deployment_id: dep,
  status: "available",
  residency: "running",
  delete_after_unused_ms: null,
  unused_since: null,
  created_at: at,
  updated_at: at,
}
const completed = { status: "completed", result: null, response }
const admitted = { sessionId: ses, turnId: trn, sequence: 1 }
const accepted = { id: ctl, sessionId: ses, status: "accepted", holdId: hld }
const ending = { sessionId: ses, status: "closing" }
const turn = { id: trn, sessionId: ses }

type Value = Readonly<Record<string, unknown>>

/** Values that each tool may return: one for each shape it has. */
const valid: Readonly<Record<ToolName, readonly Value[]>> = {
  skills: [
    { skills: [{ name: "helmr-runtime", description: "x" }] },
    { name: "helmr-runtime", description: "x", content: "---" },
  ],
  list_agents: [{ deploymentId: dep, agents: [{ agent: "auditor" }] }],
  list_computers: [{ computers: [computer, { ...computer, key: "k", error }] }],
  spawn: [admitted],
  start: [admitted],
  enqueue: [admitted],
  send_turn: [{ id: `msg_${uuid}`, turnId: trn }],
  interrupt_turn: [{ id: ctl, sessionId: ses, turnId: trn, status: "accepted" }],
  interrupt_session: [accepted],
  resume_session: [accepted],
  close_session: [ending],
  cancel_session: [ending],
  inspect_session: [session],
  list_sessions: [{ sessions: [session] }],
  inspect_turn: [
    { ...turn, status: "queued" },
    { ...turn, status: "running" },
    { ...turn, ...completed },
    { ...turn, status: "completed", payloadExpiredAt: at },
    { ...turn, status: "failed", error },
    { ...turn, status: "interrupted", error: { code: "process_lost" } },
    { ...turn, status: "cancelled", error },
  ],
  wait_turn: [{ status: "timeout" }, { status: "settled", outcome: completed }],
}

const accepts = (tool: Tool, value: unknown): boolean => tool.result.safeParse(value).success

for (const name of ToolName.options) {
  const tool: Tool = tools[name]
  test(`the result of ${name} has exactly its fields`, () => {
    for (const value of valid[name]) {
      expect(accepts(tool, value)).toBe(true)
      expect(accepts(tool, { ...value, unknown: 1 })).toBe(false)
      for (const field of Object.keys(value)) {
        const { [field]: _left, ...rest } = value
        if (field !== "response") expect(accepts(tool, rest)).toBe(false)
      }
    }
  })
}

describe("fields belong to a status", () => {
  const inspected = (value: Value): boolean => accepts(tools.inspect_turn, { ...turn, ...value })

  test("only a queued Turn can be blocked, and only a settled one has an outcome", () => {
    expect(inspected({ status: "queued", waitBlocked: true })).toBe(true)
    expect(inspected({ status: "running", waitBlocked: true })).toBe(false)
    expect(inspected({ status: "running", result: 1 })).toBe(false)
    expect(inspected({ status: "queued", error })).toBe(false)
  })

  test("a completed Turn has no error, an ended one no result, an expired one no payload", () => {
    expect(inspected({ ...completed, error })).toBe(false)
    expect(inspected({ status: "failed", error, result: 1 })).toBe(false)
    expect(inspected({ ...completed, payloadExpiredAt: at })).toBe(false)
    expect(inspected({ status: "failed", error, payloadExpiredAt: at })).toBe(true)
  })

  test("an outcome of wait_turn is settled and follows the same rules", () => {
    const settled = (outcome: Value): boolean => accepts(tools.wait_turn, { status: "settled", outcome })
    expect(settled({ status: "cancelled", error })).toBe(true)
    expect(settled({ status: "running" })).toBe(false)
    expect(settled({ ...completed, id: trn })).toBe(false)
    expect(accepts(tools.wait_turn, { status: "timeout", outcome: completed })).toBe(false)
  })

  test("what is unset is null, not absent, in Sessions and Computers", () => {
    for (const field of ["parent_session_id", "requester_session_id", "initial_turn", "idle_since"])
      expect(accepts(tools.inspect_session, { ...session, [field]: undefined })).toBe(false)
    expect(accepts(tools.inspect_session, { ...session, initial_turn: null })).toBe(true)
    expect(accepts(tools.inspect_session, { ...session, key: "k", slack_channel_id: "c" })).toBe(true)
  })
})
