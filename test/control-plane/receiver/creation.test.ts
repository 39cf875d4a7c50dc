/** What `spawn` and `start` make: ownership, pins, placement, first Turn, origin and depth. */
import { expect, test } from "bun:test"
import type { SessionId } from "@computerd/protocol/ids"
import {
  agentOf,
  bootComputerOf,
  code,
  computerOf,
  environment,
  freshKey,
  startRoot,
  templateOf,
  text,
  value,
} from "../rig.ts"
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
  inspect,
  type Member,
  runningChild,
  seen,
  statusOf,
} from "./scene.ts"

const at = eachTest({
  settings: { environments: () => ({ delegationDepthMax: 3, runningComputersMax: null }) },
})

const wide = { kind: "unrestricted" } as const

const turnTold = (member: Member): { readonly input: unknown; readonly source: unknown } => {
  const [told] = commandsOf(member, "dispatch") as { turn: { input: unknown; source: unknown } }[]
  if (told === undefined) throw new Error("no Turn was dispatched")
  return told.turn
}

test("R104 R111 R112 R243 spawn makes an owned child without a key, and its receipt is three fields", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const receipt = value(await ask(root, "spawn", { agent: "helper", input: text("x") }))
  expect(Object.keys(receipt).sort()).toEqual(["sequence", "sessionId", "turnId"])
  expect(receipt["sequence"]).toBe(1)
  const child = await inspect(root, { sessionId: created({ ok: true, value: receipt }).sessionId })
  expect(child).toMatchObject({
    agent: "helper",
    parent_session_id: root.sessionId,
    root_session_id: root.sessionId,
    requester_session_id: root.sessionId,
    initial_turn: { id: receipt["turnId"], status: "queued" },
  })
  expect("key" in child).toBe(false)
  for (const field of ["key", "sessionKey", "callerSessionId"])
    expect(code(await ask(root, "spawn", { agent: "helper", input: [], [field]: "k" }))).toBe(
      "invalid_arguments",
    )
})

test("R106 R111 R181 start makes a root that remembers who asked, owes it nothing and creates work itself", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const started = begin(await delegate(at(), root, { by: "start", agent: "lead" }))
  expect(await inspect(root, started)).toMatchObject({
    parent_session_id: null,
    root_session_id: started.sessionId,
    requester_session_id: root.sessionId,
  })
  expect(code(await ask(root, "cancel_session", { sessionId: started.sessionId }))).toBe("invalid_arguments")
  const child = await delegate(at(), started, { by: "spawn", agent: "helper" })
  expect((await inspect(started, child))["root_session_id"]).toBe(started.sessionId)
})

test("R105 R240 R241 R243 work of a Session stays on its pin; a start from outside takes the current Deployment", async () => {
  const old = at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const target = startRoot(at(), "helper")
  const current = at().publish([agentOf("lead"), agentOf("helper"), agentOf("later")])
  for (const by of ["spawn", "start"] as const) {
    const made = await delegate(at(), root, { by, agent: "helper" })
    expect((await inspect(root, made))["deployment_id"]).toBe(old)
  }
  expect(seen(at(), startRoot(at(), "lead")).deploymentId).toBe(current)
  value(await ask(root, "enqueue", { sessionId: target.sessionId, input: [] }))
  expect(seen(at(), target).deploymentId).toBe(old)
  expect(seen(at(), root)).toMatchObject({ deploymentId: old, agent: "lead" })
})

test("R170 an Agent that only a newer Deployment has is target_not_published, also when it is not granted", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  at().publish(["lead", "helper", "later"])
  for (const by of ["spawn", "start"])
    for (const scope of [undefined, { kind: "finite" as const, allow: [] }])
      expect(code(await ask(root, by, { agent: "later", input: [] }, scope))).toBe("target_not_published")
})

test("R108 the first input reaches the Computer unchanged", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const odd = ["", "\u0000", "é\u0301", "\u{1F469}\u200D\u{1F680}", "\u2028", '"\\', "</script>", " \t\r\n"]
  const input = Array.from({ length: 64 }, (_, index) => ({
    type: "text",
    text: `${odd[index % odd.length]}${index}`,
  }))
  const made = created(await ask(root, "spawn", { agent: "helper", input }))
  const sibling = await delegate(at(), root, { by: "spawn", agent: "helper" })
  const child = { ...made, supervisor: bootComputerOf(at(), made.sessionId) }
  expect(turnTold(child).input).toEqual(input)
  expect(turnTold(sibling).input).toEqual(text("work"))
})

test("R109 R179 without computerId each Session gets a Computer of its own from the target's Template", async () => {
  const other = agentOf("helper", { template: "special" })
  at().publish(["lead", other], [templateOf("basic"), templateOf("special", { deleteAfterUnusedMs: 5 })])
  const root = startRoot(at(), "lead")
  const granted = {
    kind: "finite",
    allow: [{ operation: "spawn", agents: ["helper"], computer: "new" }],
  } as const
  const made = await Promise.all(
    [1, 2].map(
      async () => created(await ask(root, "spawn", { agent: "helper", input: [] }, granted)).sessionId,
    ),
  )
  const computers = new Set([root.supervisor.computerId, ...made.map((id) => computerOf(at(), id))])
  expect(computers.size).toBe(3)
  const rows = at().receiver.computers()
  const templateFor = (id: SessionId) => rows.find((row) => row.id === computerOf(at(), id))?.template
  expect(made.map(templateFor)).toEqual(["special", "special"])
  expect(templateFor(root.sessionId)).toBe("basic")
})

test("R113 the idle period is the target Agent's", async () => {
  const allow = [
    { operation: "spawn" as const, agents: ["helper", "keen"], computer: "new" as const },
    { operation: "inspect_session" as const, agents: ["helper", "keen"] },
  ]
  at().publish([
    agentOf("lead", { closeAfterIdleMs: 111, runtimeMcp: { kind: "finite", allow } }),
    agentOf("helper", { closeAfterIdleMs: 222 }),
    agentOf("keen", { closeAfterIdleMs: null }),
  ])
  const root = startRoot(at(), "lead")
  const child = await delegate(at(), root, { by: "spawn", agent: "helper" })
  expect((await inspect(root, child))["close_after_idle_ms"]).toBe(222)
  const keen = await delegate(at(), root, { by: "spawn", agent: "keen" })
  expect((await inspect(root, keen))["close_after_idle_ms"]).toBeNull()
})

test("R110 an unrestricted maximum places work on another Computer of its Environment, and on no unknown one", async () => {
  at().publish([agentOf("lead", { runtimeMcp: wide }), agentOf("helper")])
  const root = startRoot(at(), "lead")
  const other = startRoot(at(), "helper")
  const { computerId } = other.supervisor
  const made = created(await ask(root, "spawn", { agent: "helper", input: [], computerId }, wide))
  expect(computerOf(at(), made.sessionId)).toBe(computerId)
  const unknown = "cmp_01900000-0000-7000-8000-fffffffffff9"
  expect(code(await ask(root, "spawn", { agent: "helper", input: [], computerId: unknown }, wide))).toBe(
    "invalid_arguments",
  )
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

test("R243 a start from outside repeats its receipt after a redeploy and after a restart", async () => {
  at().publish(["lead"])
  const request = { environment, agent: "lead", input: text("x"), idempotencyKey: freshKey() }
  const first = at().receiver.startSession(request)
  at().publish(["lead"])
  await at().restart()
  expect(at().receiver.startSession(request)).toEqual(first)
})
