/** Who may do what: roles, relations, grants, and the maximum that the receiver itself enforces. */
import { describe, expect, test } from "bun:test"
import type { RuleOperation } from "@computerd/protocol/scope"
import { agentOf, code, startRoot, text, value } from "../rig.ts"
import {
  type Arguments,
  adopt,
  ask,
  begin,
  call,
  delegate,
  eachTest,
  enqueue,
  idleRoot,
  inspect,
  type Member,
  only,
  refusal,
  runningChild,
  seen,
  statusOf,
  stopped,
  unknownHold,
} from "./scene.ts"

const at = eachTest()

const controls: Readonly<Record<string, (target: Member) => Arguments>> = {
  send_turn: (target) => ({ sessionId: target.sessionId, turnId: target.turnId, message: text("hear") }),
  interrupt_turn: (target) => ({ sessionId: target.sessionId, turnId: target.turnId }),
  interrupt_session: (target) => ({ sessionId: target.sessionId }),
  resume_session: (target) => ({ sessionId: target.sessionId, holdId: unknownHold }),
  close_session: (target) => ({ sessionId: target.sessionId }),
  cancel_session: (target) => ({ sessionId: target.sessionId }),
}

const reads: Readonly<Record<string, (target: Member) => Arguments>> = {
  inspect_session: (target) => ({ sessionId: target.sessionId }),
  inspect_turn: (target) => ({ sessionId: target.sessionId, turnId: target.turnId }),
  wait_turn: (target) => ({ sessionId: target.sessionId, turnId: target.turnId, timeoutMs: 1 }),
}

test("R59 R60 a child lists no Agents and creates nothing", async () => {
  at().publish(["lead", "helper"])
  const child = await runningChild(at(), startRoot(at(), "lead"), "helper")
  const before = at().receiver.snapshot().sessions.length
  expect(code(await call(child, "list_agents", { operation: "spawn" }))).toBe("root_session_required")
  for (const tool of ["spawn", "start"])
    expect(code(await ask(child, tool, { agent: "helper", input: [] }))).toBe("root_session_required")
  expect(at().receiver.snapshot().sessions.length).toBe(before)
})

test("R61 R62 R73 the six controls refuse itself, the parent, a started root and a stranger, and change nothing", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  const started = begin(await delegate(at(), root, { by: "start", agent: "helper" }))
  const stranger = startRoot(at(), "lead")
  const cases: readonly (readonly [Member, Member])[] = [
    [root, root],
    [child, child],
    [child, root],
    [root, started],
    [root, stranger],
  ]
  for (const [caller, target] of cases) {
    const before = seen(at(), target)
    for (const [tool, args] of Object.entries(controls))
      expect(`${tool} ${code(await ask(caller, tool, args(target)))}`).toBe(`${tool} invalid_arguments`)
    expect(seen(at(), target)).toEqual(before)
  }
})

test("R61 R62 controls reach owned descendants below the direct children", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const middle = begin(await delegate(at(), root, { by: "start", agent: "lead" }))
  const leaf = await runningChild(at(), middle, "helper")
  adopt(at(), root, middle)
  expect(code(await ask(root, "interrupt_turn", controls["interrupt_turn"]!(leaf)))).toBe("ok")
  expect(code(await ask(root, "cancel_session", { sessionId: leaf.sessionId }))).toBe("ok")
  expect((await inspect(root, leaf))["status"]).toBe("closing")
})

test("R63 an unrelated open Session of a granted Agent takes a Turn, also from a child, also in itself", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const stranger = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  expect(statusOf(at(), stranger, await enqueue(root, stranger))).toBe("queued")
  expect(statusOf(at(), root, await enqueue(child, root))).toBe("queued")
  expect(statusOf(at(), root, await enqueue(root, root))).toBe("queued")
})

test("R67 each root lists its own relations and no others", async () => {
  at().publish(["lead", "helper"])
  const [one, two] = [startRoot(at(), "lead"), startRoot(at(), "lead")]
  const first = await delegate(at(), one, { by: "spawn", agent: "helper" })
  const second = await delegate(at(), two, { by: "spawn", agent: "helper" })
  const ids = async (caller: Member) => {
    const page = value(await call(caller, "list_sessions", { relation: "requested" }))
    return (page["sessions"] as { id: string }[]).map((session) => session.id)
  }
  expect(await ids(one)).toEqual([first.sessionId])
  expect(await ids(two)).toEqual([second.sessionId])
})

describe("grants", () => {
  const targeted: Readonly<Record<string, Exclude<RuleOperation, "spawn" | "start" | "list_computers">>> = {
    enqueue: "enqueue",
    send_turn: "send_turn",
    interrupt_turn: "interrupt_turn",
    interrupt_session: "interrupt_session",
    resume_session: "resume_session",
    close_session: "close_session",
    cancel_session: "cancel_session",
    inspect_session: "inspect_session",
    inspect_turn: "inspect_turn",
    wait_turn: "inspect_turn",
  }

  test("R68 R169 every targeted tool needs its operation on the target's exact Agent", async () => {
    at().publish(["lead", "helper", "other"])
    const root = startRoot(at(), "lead")
    const other = await runningChild(at(), root, "other")
    const hold = value(await ask(root, "interrupt_session", { sessionId: other.sessionId }))["holdId"]
    stopped(other, "interrupted")
    for (const [tool, operation] of Object.entries(targeted)) {
      const holdArgs = tool === "resume_session" ? { holdId: hold ?? null } : {}
      const build = { ...controls, ...reads }[tool]
      const args = build?.(other) ?? { sessionId: other.sessionId, input: [] }
      const key = tool in reads ? {} : { idempotencyKey: `once ${tool}` }
      const asked = { ...args, ...holdArgs, ...key }
      const denied = await call(root, tool, asked, only({ operation, agents: ["helper", "lead"] }))
      expect(`${tool} ${code(denied)}`).toBe(`${tool} runtime_mcp_denied`)
      const granted = await call(root, tool, asked, only({ operation, agents: ["other"] }))
      expect(`${tool} ${code(granted)}`).not.toContain("runtime_mcp_denied")
    }
  })

  test("R68 R169 creation needs its operation, Agent and placement", async () => {
    at().publish(["lead", "helper", "other"])
    const root = startRoot(at(), "lead")
    for (const operation of ["spawn", "start"] as const) {
      const scope = only({ operation, agents: ["helper"], computer: "new" })
      const own = { computerId: root.supervisor.computerId }
      expect(code(await ask(root, operation, { agent: "helper", input: [] }, scope))).toBe("ok")
      for (const args of [{ agent: "other" }, { agent: "helper", ...own }])
        expect(code(await ask(root, operation, { ...args, input: [] }, scope))).toBe("runtime_mcp_denied")
      const unsaid = operation === "spawn" ? "start" : "spawn"
      expect(code(await ask(root, unsaid, { agent: "helper", input: [] }, scope))).toBe("runtime_mcp_denied")
    }
  })

  test("R70 a child of an ungranted Agent is not listed", async () => {
    at().publish(["lead", "helper", "other"])
    const root = startRoot(at(), "lead")
    await delegate(at(), root, { by: "spawn", agent: "other" })
    const helper = await delegate(at(), root, { by: "spawn", agent: "helper" })
    const scope = only({ operation: "inspect_session", agents: ["helper"] })
    const page = value(await call(root, "list_sessions", { relation: "owned" }, scope))
    expect((page["sessions"] as { id: string }[]).map((one) => one.id)).toEqual([helper.sessionId])
  })

  test("R71 wait_turn needs inspect_turn, and inspect_session does not stand in for it", async () => {
    at().publish(["lead", "helper"])
    const root = startRoot(at(), "lead")
    const child = await runningChild(at(), root, "helper")
    const scope = only({ operation: "inspect_session", agents: ["helper"] })
    expect(code(await call(root, "wait_turn", reads["wait_turn"]!(child), scope))).toBe("runtime_mcp_denied")
  })

  test("R72 list_computers needs a rule of its own", async () => {
    at().publish(["lead", "helper"])
    const root = startRoot(at(), "lead")
    const creation = only({ operation: "spawn", agents: ["helper"], computer: "new" })
    expect(code(await call(root, "list_computers", {}, creation))).toBe("runtime_mcp_denied")
    expect(code(await call(root, "list_computers", {}, only({ operation: "list_computers" })))).toBe("ok")
  })

  test("R74 R75 a creation grant neither observes nor controls the child that it made", async () => {
    at().publish(["lead", "helper"])
    const root = startRoot(at(), "lead")
    const child = await runningChild(at(), root, "helper")
    const scope = only(
      { operation: "spawn", agents: ["helper"], computer: "new" },
      { operation: "start", agents: ["helper"], computer: "new" },
    )
    const before = seen(at(), child)
    for (const [tool, args] of Object.entries(reads))
      expect(`${tool} ${code(await call(root, tool, args(child), scope))}`).toBe(`${tool} runtime_mcp_denied`)
    for (const [tool, args] of Object.entries(controls)) {
      if (tool === "resume_session") continue
      expect(`${tool} ${code(await ask(root, tool, args(child), scope))}`).toBe(`${tool} runtime_mcp_denied`)
    }
    expect(code(await call(root, "list_sessions", { relation: "owned" }, scope))).toBe("runtime_mcp_denied")
    expect(seen(at(), child)).toEqual(before)
  })

  test("R76 a frame that claims more than the pinned maximum is denied, even what the maximum holds", async () => {
    const narrow = only({ operation: "spawn", agents: ["helper"], computer: "new" })
    at().publish([agentOf("lead", { runtimeMcp: narrow as never }), "helper"])
    const root = startRoot(at(), "lead")
    const wide = only(
      { operation: "spawn", agents: ["helper"], computer: "new" },
      { operation: "start", agents: ["helper"], computer: "new" },
    )
    const claims = [wide, { kind: "unrestricted" as const }]
    for (const scope of claims)
      for (const tool of ["spawn", "start"])
        expect(code(await ask(root, tool, { agent: "helper", input: [] }, scope))).toBe("runtime_mcp_denied")
    expect(code(await ask(root, "spawn", { agent: "helper", input: [] }))).toBe("ok")
  })

  test("R169 the refusal says which operation and Agent are missing", async () => {
    at().publish(["lead", "helper"])
    const root = idleRoot(at(), "lead")
    const answer = refusal(await ask(root, "spawn", { agent: "helper", input: [] }, only()))
    expect(answer).toContain("spawn")
    expect(answer).toContain("helper")
  })
})
