/** Receipts over time: when the world has moved on, how long they are kept, and what their absence allows. */
import { expect, test } from "bun:test"
import type { AdmissionAnswer } from "@computerd/protocol/link"
import { agentOf, code, environment, startRoot, text, value } from "../rig.ts"
import {
  type Arguments,
  ask,
  call,
  commandsOf,
  eachTest,
  idleRoot,
  pass,
  runningChild,
  seen,
  stopped,
} from "./scene.ts"

const at = eachTest()
const day = 24 * 3600 * 1000

test("R85 every receipt is found again after its target has settled and closed, and nothing happens twice", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  const { sessionId, turnId } = child
  const first = new Map<string, { readonly args: Arguments; readonly answer: AdmissionAnswer }>()
  const once = async (tool: string, args: Arguments) => {
    const keyed = { ...args, idempotencyKey: tool }
    const answer = await call(root, tool, keyed)
    first.set(tool, { args: keyed, answer })
    return value(answer)
  }
  await once("spawn", { agent: "helper", input: [] })
  await once("start", { agent: "helper", input: [] })
  await once("enqueue", { sessionId, input: [] })
  await once("send_turn", { sessionId, turnId, message: text("x") })
  await once("interrupt_turn", { sessionId, turnId })
  const { holdId } = await once("interrupt_session", { sessionId })
  await once("resume_session", { sessionId, holdId: holdId ?? null })
  await once("close_session", { sessionId })
  await once("cancel_session", { sessionId })
  stopped(child, "cancelled")
  expect(seen(at(), child).status).toBe("closed")
  await at().restart()
  root.supervisor.attach()
  const before = at().receiver.snapshot()
  for (const [tool, { args, answer }] of first)
    expect({ tool, again: await call(root, tool, args) }).toEqual({ tool, again: answer })
  expect(at().receiver.snapshot()).toEqual(before)
  expect(commandsOf(child, "message").length).toBe(1)
})

test("R171 spawn and start with the same arguments under one key are two requests", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const request = { agent: "helper", input: [], idempotencyKey: "k" }
  value(await call(root, "start", request))
  expect(code(await call(root, "spawn", request))).toBe("idempotency_conflict")
})

test("R85 R64 the receipt of an enqueue into a stranger is found after the stranger closed, and only with its key", async () => {
  at().publish(["lead", "helper"])
  const [root, stranger] = [startRoot(at(), "lead"), startRoot(at(), "lead")]
  const request = { sessionId: stranger.sessionId, input: [], idempotencyKey: "k" }
  const first = await call(root, "enqueue", request)
  at().receiver.control({ kind: "cancel", sessionId: stranger.sessionId })
  stopped(stranger, "cancelled")
  expect(seen(at(), stranger).status).toBe("closed")
  expect(await call(root, "enqueue", request)).toEqual(first)
  expect(code(await call(root, "enqueue", { ...request, input: text("y") }))).toBe("idempotency_conflict")
  expect(code(await ask(root, "enqueue", { sessionId: stranger.sessionId, input: [] }))).toBe(
    "invalid_arguments",
  )
})

test("R85 receipts are kept for thirty days after their caller has closed", async () => {
  at().publish(["lead", "helper"])
  const root = idleRoot(at(), "lead")
  await call(root, "spawn", { agent: "helper", input: [], idempotencyKey: "k" })
  const found = () =>
    at().receiver.receipt(root.supervisor.computerId, root.supervisor.epoch(), root.sessionId, "k")
  pass(at(), 100 * day, root)
  expect(found()?.ok).toBe(true)
  at().receiver.control({ kind: "cancel", sessionId: root.sessionId })
  expect(seen(at(), root).status).toBe("closed")
  pass(at(), 29 * day, root)
  expect(found()?.ok).toBe(true)
  pass(at(), 2 * day, root)
  expect(found()).toBeUndefined()
})

test("a start from outside repeats its receipt, conflicts when changed, and a key of an open Session is taken", () => {
  at().publish(["lead"])
  const request = { environment, agent: "lead", input: text("x"), idempotencyKey: "k", sessionKey: "ticket" }
  const first = at().receiver.startSession(request)
  expect(at().receiver.startSession(request)).toEqual(first)
  const changed = at().receiver.startSession({ ...request, input: text("y") })
  expect(changed.ok ? "ok" : changed.error.code).toBe("idempotency_conflict")
  const taken = at().receiver.startSession({ ...request, idempotencyKey: "other" })
  expect(taken.ok ? "ok" : `${taken.error.code} ${taken.error.field}`).toBe("invalid_arguments sessionKey")
})

test("R132 a draining Session that is interrupted drains no more: queued Turns are cancelled and it closes", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  value(await ask(root, "enqueue", { sessionId: child.sessionId, input: [] }))
  value(await ask(root, "close_session", { sessionId: child.sessionId }))
  value(await ask(root, "interrupt_session", { sessionId: child.sessionId }))
  stopped(child, "interrupted")
  expect(seen(at(), child)).toMatchObject({ status: "closed" })
  expect(seen(at(), child).turns.map((turn) => turn.status)).toEqual(["interrupted", "cancelled"])
})

test("R170 R240 a start from outside of an Agent that the current Deployment lacks is target_not_published", () => {
  at().publish(["lead"])
  at().publish([agentOf("other")])
  const started = at().receiver.startSession({ environment, agent: "lead", input: [], idempotencyKey: "k" })
  expect(started.ok ? "ok" : started.error.code).toBe("target_not_published")
})
