/** What `spawn` and `start` make: ownership, pins, placement, first Turn. */
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
import { ask, begin, created, delegate, eachTest, inspect, seen, turnTold } from "./scene.ts"

const at = eachTest()

const wide = { kind: "unrestricted" } as const

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
  const odd = [
    "",
    "\u0000",
    "\ud800",
    "é\u0301",
    "\u{1F469}\u200D\u{1F680}",
    "\u2028",
    '"\\',
    "</script>",
    " \t\r\n",
  ]
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

test("R243 a start from outside repeats its receipt after a redeploy and after a restart", async () => {
  at().publish(["lead"])
  const request = { environment, agent: "lead", input: text("x"), idempotencyKey: freshKey() }
  const first = at().receiver.startSession(request)
  at().publish(["lead"])
  await at().restart()
  expect(at().receiver.startSession(request)).toEqual(first)
})
