/** Chains and families of work: depth, origin, pins, and how little the requester's fate matters to what it asked for. */
import { expect, test } from "bun:test"
import { agentOf, code, startRoot } from "../rig.ts"
import {
  ask,
  begin,
  call,
  commandsOf,
  created,
  delegate,
  eachTest,
  exited,
  finish,
  type Member,
  only,
  runningChild,
  seen,
  statusOf,
  turnTold,
} from "./scene.ts"

const at = eachTest({
  settings: { environments: () => ({ delegationDepthMax: 3, runningComputersMax: null }) },
})

test("R182 with a limit of three the fourth start of a chain is refused, and a spawn at the end too", async () => {
  at().publish(["lead", "helper"])
  let last: Member = startRoot(at(), "lead")
  for (let step = 0; step < 3; step += 1)
    last = begin(await delegate(at(), last, { by: "start", agent: "lead" }))
  const before = at().receiver.snapshot().sessions.length
  for (const by of ["start", "spawn"])
    expect(code(await ask(last, by, { agent: "helper", input: [] }))).toBe("delegation_depth_exceeded")
  expect(at().receiver.snapshot().sessions.length).toBe(before)
})

test("R183 the child's process is told its parent; a root's is told none", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const attachedRun = (member: Member) => {
    const attached = member.supervisor.attach()
    return attached.ok ? attached.value.run[0]?.assignment : undefined
  }
  const child = await delegate(at(), root, { by: "spawn", agent: "helper" })
  const started = await delegate(at(), root, { by: "start", agent: "helper" })
  expect(attachedRun(child)).toMatchObject({ parent: root.sessionId, role: "child" })
  expect(attachedRun(started)).not.toHaveProperty("parent")
  expect(attachedRun(root)).not.toHaveProperty("parent")
})

test("R196 R197 a Turn names the Session that asked and the Turn it asked from, fixed at admission", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  finish(root)
  const second = created(await ask(root, "enqueue", { sessionId: root.sessionId, input: [] })).turnId
  const fromNone = await delegate(at(), root, { by: "start", agent: "helper" })
  root.supervisor.startTurn(root.sessionId, second)
  const fromSecond = await delegate(at(), root, { by: "start", agent: "helper" })
  finish(root, second)
  const source = { kind: "session", requesterSessionId: root.sessionId }
  expect(turnTold(fromSecond).source).toEqual({ ...source, originTurnId: second })
  expect(turnTold(fromNone).source).toEqual(source)
  expect(turnTold(root).source).toEqual({ kind: "client" })
})

test("R195 R239 what happens to the starter afterwards does not touch what it started", async () => {
  at().publish(["lead", "helper"])
  const outer = startRoot(at(), "lead")
  const started = begin(await delegate(at(), outer, { by: "start", agent: "helper" }))
  for (const kind of ["interrupt", "close", "cancel"] as const) {
    at().receiver.control({ kind, sessionId: outer.sessionId })
    expect(seen(at(), started)).toMatchObject({ status: "open", holds: [] })
    expect(commandsOf(started, "cancel_turn")).toEqual([])
  }
  finish(started)
  expect(statusOf(at(), started)).toBe("completed")
})

test("R184 a parent's Turn that returns, fails or is lost leaves the children running", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  finish(root)
  const failing = startRoot(at(), "lead")
  const other = await runningChild(at(), failing, "helper")
  exited(failing, { kind: "code", code: 1 }, { turnId: failing.turnId })
  for (const one of [child, other]) {
    expect(seen(at(), one)).toMatchObject({ status: "open", holds: [] })
    expect(commandsOf(one, "cancel_turn")).toEqual([])
    finish(one)
    expect(statusOf(at(), one)).toBe("completed")
  }
})

test("R246 a narrow caller's delegate keeps its own width", async () => {
  const narrow = {
    kind: "finite",
    allow: [{ operation: "start", agents: ["broad"], computer: "new" }],
  } as const
  const broad = {
    kind: "finite",
    allow: [{ operation: "spawn", agents: ["lead"], computer: "new" }, { operation: "list_computers" }],
  } as const
  at().publish([
    agentOf("lead", { runtimeMcp: narrow as never }),
    agentOf("broad", { runtimeMcp: broad as never }),
  ])
  const root = startRoot(at(), "lead")
  const delegateOf = begin(await delegate(at(), root, { by: "start", agent: "broad" }))
  expect(code(await ask(root, "spawn", { agent: "lead", input: [] }, narrow))).toBe("runtime_mcp_denied")
  expect(code(await ask(delegateOf, "spawn", { agent: "lead", input: [] }, broad))).toBe("ok")
  expect(code(await call(delegateOf, "list_computers", {}, broad))).toBe("ok")
})

test("R224 R226 a stricter redeploy neither narrows, widens nor stops an old Session", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  at().publish([agentOf("lead"), agentOf("helper"), agentOf("later")])
  expect(seen(at(), root)).toMatchObject({ status: "open", holds: [] })
  expect(seen(at(), child)).toMatchObject({ status: "open", holds: [] })
  expect(code(await ask(root, "spawn", { agent: "helper", input: [] }))).toBe("ok")
  const fresh = startRoot(at(), "lead")
  expect(code(await ask(fresh, "spawn", { agent: "helper", input: [] }))).toBe("runtime_mcp_denied")
  const newer = startRoot(at(), "later")
  expect(code(await ask(root, "enqueue", { sessionId: newer.sessionId, input: [] }))).toBe(
    "runtime_mcp_denied",
  )
})

test("R227 a maximum that was stored before an operation existed never grants it, also after a restart", async () => {
  const stored = only(
    { operation: "spawn", agents: ["helper"], computer: "new" },
    { operation: "inspect_session", agents: ["helper"] },
  )
  const id = at().publish([agentOf("lead", { runtimeMcp: stored as never }), agentOf("helper")])
  const root = startRoot(at(), "lead")
  const before = at().receiver.deployment(id)
  at().publish(["lead", "helper"])
  await at().restart()
  root.supervisor.attach()
  expect(at().receiver.deployment(id)).toEqual(before)
  const child = await delegate(at(), root, { by: "spawn", agent: "helper" })
  for (const [tool, args] of [
    ["list_computers", {}],
    ["inspect_turn", { sessionId: child.sessionId, turnId: child.turnId }],
  ] as const)
    expect(code(await call(root, tool, args))).toBe("runtime_mcp_denied")
  expect(code(await ask(root, "cancel_session", { sessionId: child.sessionId }))).toBe("runtime_mcp_denied")
})
