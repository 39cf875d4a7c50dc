/** One effect for each (caller, key), whatever happens between the repeats. */
import { expect, test } from "bun:test"
import type { AdmissionAnswer } from "@computerd/protocol/link"
import { code, startRoot, text, value } from "../rig.ts"
import {
  type Arguments,
  ask,
  call,
  eachTest,
  enqueue,
  exited,
  finish,
  idleRoot,
  type Member,
  only,
  pass,
  refusal,
  runningChild,
} from "./scene.ts"

const at = eachTest()

const sessions = () => at().receiver.snapshot().sessions.length

test("R85 a hundred interleaved identical spawns are one child and one receipt", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const same = { agent: "helper", input: text("x"), idempotencyKey: "same" }
  const waves: Promise<AdmissionAnswer>[] = []
  for (let wave = 0; wave < 10; wave += 1) {
    for (let index = 0; index < 10; index += 1) {
      waves.push(call(root, "spawn", same))
      if (index === 5) waves.push(ask(root, "spawn", { agent: "helper", input: text("other") }))
    }
    await Promise.resolve()
  }
  const receipts = (await Promise.all(waves)).map((answer) => JSON.stringify(value(answer)))
  expect(new Set(receipts).size).toBe(11)
  expect(sessions()).toBe(1 + 11)
})

/** Each builds a request on a running child that is accepted and leaves the child able to take the next. */
const mutations: readonly (readonly [string, (child: Member, hold: string) => Arguments])[] = [
  ["spawn", () => ({ agent: "helper", input: text("a") })],
  ["start", () => ({ agent: "helper", input: text("a") })],
  ["enqueue", (child) => ({ sessionId: child.sessionId, input: text("a") })],
  ["send_turn", (child) => ({ sessionId: child.sessionId, turnId: child.turnId, message: text("a") })],
  ["interrupt_turn", (child) => ({ sessionId: child.sessionId, turnId: child.turnId })],
  ["interrupt_session", (child) => ({ sessionId: child.sessionId })],
  ["resume_session", (child, holdId) => ({ sessionId: child.sessionId, holdId })],
  ["close_session", (child) => ({ sessionId: child.sessionId })],
  ["cancel_session", (child) => ({ sessionId: child.sessionId })],
]

test("R85 R171 each of the nine mutating tools repeats its receipt, and conflicts under another tool's key", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  let hold = ""
  for (const [tool, build] of mutations) {
    const request = { ...build(child, hold), idempotencyKey: `key of ${tool}` }
    const first = await call(root, tool, request)
    const holdId = value(first)["holdId"]
    if (typeof holdId === "string") hold = holdId
    const before = at().receiver.snapshot()
    expect(await call(root, tool, request)).toEqual(first)
    const [other] = tool === "enqueue" ? ["cancel_session"] : ["enqueue"]
    const conflicting =
      other === "enqueue" ? { sessionId: child.sessionId, input: [] } : { sessionId: child.sessionId }
    const answer = await call(root, other, { ...conflicting, idempotencyKey: request.idempotencyKey })
    expect(`${tool} ${code(answer)}`).toBe(`${tool} idempotency_conflict`)
    expect(at().receiver.snapshot()).toEqual(before)
  }
})

test("R85 every mutating tool names a missing idempotencyKey and does nothing", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  const before = at().receiver.snapshot()
  for (const [tool, build] of mutations) {
    const answer = refusal(await call(root, tool, build(child, "hld_01900000-0000-7000-8000-000000000001")))
    expect(answer).toStartWith("invalid_arguments: idempotencyKey")
  }
  expect(at().receiver.snapshot()).toEqual(before)
})

test("R171 one other character in the input conflicts; the order of JSON keys does not", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const first = value(
    await call(root, "spawn", { agent: "helper", input: text("abc"), idempotencyKey: "order" }),
  )
  const turned = await call(root, "spawn", {
    idempotencyKey: "order",
    input: [{ text: "abc", type: "text" }],
    agent: "helper",
  })
  expect(value(turned)).toEqual(first)
  const changed = await call(root, "spawn", { agent: "helper", input: text("abd"), idempotencyKey: "order" })
  expect(code(changed)).toBe("idempotency_conflict")
})

test("R171 an explicit computerId and an omitted one are different requests", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const bare = { agent: "helper", input: [], idempotencyKey: "bare" }
  value(await call(root, "spawn", bare))
  const named = { ...bare, computerId: root.supervisor.computerId }
  expect(code(await call(root, "spawn", named))).toBe("idempotency_conflict")
  value(await call(root, "spawn", { ...named, idempotencyKey: "named" }))
  expect(code(await call(root, "spawn", { ...bare, idempotencyKey: "named" }))).toBe("idempotency_conflict")
})

test("R77 the grant is asked before the receipt: a header without spawn is denied, a narrower one with it is not", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const request = { agent: "helper", input: text("x"), idempotencyKey: "k" }
  const first = value(await call(root, "spawn", request))
  const without = only({ operation: "inspect_session", agents: ["helper"] })
  expect(code(await call(root, "spawn", request, without))).toBe("runtime_mcp_denied")
  const conflicting = { ...request, input: text("y") }
  expect(code(await call(root, "spawn", conflicting, without))).toBe("runtime_mcp_denied")
  const narrower = only({ operation: "spawn", agents: ["helper"], computer: "new" })
  expect(value(await call(root, "spawn", request, narrower))).toEqual(first)
})

test("R78 a retry that names no Computer asks for a new one, whatever the first attempt made", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const request = { agent: "helper", input: [], idempotencyKey: "k" }
  const first = value(await call(root, "spawn", request))
  const onCaller = only({ operation: "spawn", agents: ["helper"], computer: "caller" })
  expect(code(await call(root, "spawn", request, onCaller))).toBe("runtime_mcp_denied")
  const onNew = only({ operation: "spawn", agents: ["helper"], computer: "new" })
  expect(value(await call(root, "spawn", request, onNew))).toEqual(first)
})

test("R79 R85 the rebuilt caller finds its receipt and its child, and the dead process has no authority", async () => {
  at().publish(["lead", "helper"])
  const root = idleRoot(at(), "lead")
  const request = { agent: "helper", input: [], idempotencyKey: "k" }
  const first = value(await call(root, "spawn", request))
  const child = await runningChild(at(), root, "helper")
  exited(root, { kind: "signal", signal: "SIGKILL" })
  const before = root.supervisor.generation(root.sessionId)
  root.supervisor.startProcess(root.sessionId)
  expect(value(await call(root, "spawn", request))).toEqual(first)
  finish(child, child.turnId, "done")
  const wait = { sessionId: child.sessionId, turnId: child.turnId, timeoutMs: 1 }
  expect(value(await call(root, "wait_turn", wait))["status"]).toBe("settled")
  const stale = await at().receiver.admit(
    root.supervisor.computerId,
    root.supervisor.epoch(),
    { sessionId: root.sessionId, generation: before, scope: only(), tool: "wait_turn", arguments: wait },
    new AbortController().signal,
  )
  expect(code(stale)).toBe("authority_changed")
})

test("R85 R175 receipts survive reopening the store", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const request = { agent: "helper", input: text("x"), idempotencyKey: "k" }
  const first = await call(root, "spawn", request)
  await at().restart()
  root.supervisor.attach()
  expect(await call(root, "spawn", request)).toEqual(first)
  const { computerId, epoch } = root.supervisor
  expect(at().receiver.receipt(computerId, epoch(), root.sessionId, "k")).toEqual(first)
  expect(code(await call(root, "spawn", { ...request, input: [] }))).toBe("idempotency_conflict")
  expect(sessions()).toBe(2)
})

test("R175 after an answer was lost the receipt tells what the mutation did, and none tells that nothing was", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const gone = new AbortController()
  gone.abort()
  const { computerId } = root.supervisor
  const epoch = root.supervisor.epoch()
  const request = { agent: "helper", input: [], idempotencyKey: "cut" }
  const answer = await at().receiver.admit(
    computerId,
    epoch,
    {
      sessionId: root.sessionId,
      generation: root.supervisor.generation(root.sessionId),
      scope: only({ operation: "spawn", agents: ["helper"], computer: "new" }),
      tool: "spawn",
      arguments: request,
    },
    gone.signal,
  )
  expect(at().receiver.receipt(computerId, epoch, root.sessionId, "cut")).toEqual(answer)
  expect(at().receiver.receipt(computerId, epoch, root.sessionId, "never")).toBeUndefined()
})

test("R85 a refused request uses up no key", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const request = { input: [], idempotencyKey: "k" }
  expect(code(await call(root, "spawn", { ...request, agent: "nobody" }))).toBe("target_not_published")
  expect(code(await call(root, "spawn", { ...request, agent: "helper" }))).toBe("ok")
})

test("R85 a receipt outlives its target and is kept while the caller is open", async () => {
  at().publish(["lead", "helper"])
  const root = idleRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  const request = { sessionId: child.sessionId, input: [], idempotencyKey: "k" }
  const first = await call(root, "enqueue", request)
  const cancel = { sessionId: child.sessionId, idempotencyKey: "c" }
  const cancelled = await call(root, "cancel_session", cancel)
  finish(child)
  pass(at(), 90 * 24 * 3600 * 1000, root)
  expect(await call(root, "enqueue", request)).toEqual(first)
  expect(await call(root, "cancel_session", cancel)).toEqual(cancelled)
  expect(code(await ask(root, "enqueue", { sessionId: child.sessionId, input: [] }))).toBe(
    "invalid_arguments",
  )
  expect(await enqueue(root, root)).toBeString()
})
