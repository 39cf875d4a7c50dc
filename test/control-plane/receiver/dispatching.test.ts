/** What is checked at the moment of dispatch, and who is believed about what runs. */
import { expect, test } from "bun:test"
import { Epoch } from "@computerd/protocol/ids"
import {
  bootComputerOf,
  code,
  createSupervisor,
  environment,
  freshKey,
  startRoot,
  text,
  value,
} from "../rig.ts"
import {
  ask,
  begin,
  call,
  delegate,
  dispatched,
  eachTest,
  enqueue,
  exited,
  finish,
  idleRoot,
  only,
  runningChild,
  seen,
  statusOf,
  turnSeen,
} from "./scene.ts"

const at = eachTest()

test("R244 events and calls under an older epoch change nothing", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const stale = root.supervisor.epoch()
  const { computerId } = root.supervisor
  const generation = root.supervisor.generation(root.sessionId)
  const living = { sessionId: root.sessionId, generation, state: "running", turnId: root.turnId } as const
  root.supervisor.attach([living])
  expect(root.supervisor.epoch()).toBeGreaterThan(stale)
  const settled = at().receiver.event(computerId, stale, 99, at().ports.now(), {
    type: "turn_settled",
    sessionId: root.sessionId,
    generation,
    turnId: root.turnId,
    outcome: { status: "completed", result: "from a fenced supervisor" },
  })
  expect(settled.ok ? "ok" : settled.error.code).toBe("superseded")
  expect(statusOf(at(), root)).toBe("running")
  const scope = only({ operation: "spawn", agents: ["helper"], computer: "new" })
  const request = { agent: "helper", input: [], idempotencyKey: "k" }
  const admission = { sessionId: root.sessionId, generation, scope, tool: "spawn", arguments: request }
  const { signal } = new AbortController()
  expect(code(await at().receiver.admit(computerId, stale, admission, signal))).toBe("authority_changed")
  const ahead = Epoch.parse(root.supervisor.epoch() + 1)
  expect(code(await at().receiver.admit(computerId, ahead, admission, signal))).toBe("authority_changed")
  expect(at().receiver.snapshot().sessions.length).toBe(1)
})

test("R244 nothing is dispatched before a supervisor has attached to a running Computer, then once", () => {
  at().publish(["lead"])
  const started = at().receiver.startSession({
    environment,
    agent: "lead",
    input: text("x"),
    idempotencyKey: freshKey(),
  })
  if (!started.ok) throw new Error(started.error.message)
  const computerId = seen(at(), started.value).computerId
  const waiting = createSupervisor(at(), computerId)
  for (const residency of ["starting", "unavailable", "starting"] as const) {
    at().receiver.computerState(computerId, residency, "driver says so")
    expect(waiting.pull().filter((command) => command.type === "dispatch")).toEqual([])
  }
  const root = { ...started.value, supervisor: bootComputerOf(at(), started.value.sessionId) }
  expect(dispatched(root)).toEqual([root.turnId])
  root.supervisor.startProcess(root.sessionId)
  expect(dispatched(root)).toEqual([root.turnId])
})

test("R244 a caller on another Computer than the Session's, or of a Session elsewhere, is not that Session", async () => {
  at().publish(["lead", "helper"])
  const [root, other] = [startRoot(at(), "lead"), startRoot(at(), "lead")]
  const borrowed = { ...root, supervisor: other.supervisor }
  expect(code(await ask(borrowed, "spawn", { agent: "helper", input: [] }))).toBe("authority_changed")
  other.supervisor.settle(root.sessionId, root.turnId, "forged")
  expect(statusOf(at(), root)).toBe("running")
})

test("R143 R244 a Turn that ran in a lost process is never dispatched again, and the queue waits for the release", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  const next = await enqueue(root, child)
  exited(child, { kind: "signal", signal: "SIGKILL" }, { turnId: child.turnId })
  expect(turnSeen(at(), child)).toMatchObject({ status: "interrupted", error: { code: "process_lost" } })
  child.supervisor.attach()
  expect(dispatched(child)).toEqual([child.turnId])
  const [hold] = seen(at(), child).holds
  value(await ask(root, "resume_session", { sessionId: child.sessionId, holdId: hold?.id ?? "" }))
  expect(dispatched(child)).toEqual([child.turnId, next])
  expect(statusOf(at(), child)).toBe("interrupted")
})

test("R79 R239 admitted work goes on when the caller's Computer is lost, and the caller finds its outcome later", async () => {
  at().publish(["lead", "helper"])
  const root = idleRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  at().receiver.computerLost(root.supervisor.computerId, "power cut")
  expect(seen(at(), child)).toMatchObject({ status: "open", holds: [] })
  finish(child, child.turnId, "kept")
  root.supervisor.attach()
  root.supervisor.startProcess(root.sessionId)
  const wait = { sessionId: child.sessionId, turnId: child.turnId, timeoutMs: 1 }
  expect(value(await call(root, "wait_turn", wait))).toEqual({
    status: "settled",
    outcome: { status: "completed", result: "kept" },
  })
})

test("a repeated event is applied once: a settled Turn's replay does not settle the next one", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = begin(await delegate(at(), root, { by: "spawn", agent: "helper" }))
  const next = await enqueue(root, child)
  finish(child, child.turnId, 1)
  child.supervisor.startTurn(child.sessionId, next)
  finish(child, child.turnId, 2)
  child.supervisor.startTurn(child.sessionId, child.turnId)
  expect(turnSeen(at(), child)).toMatchObject({ status: "completed", result: 1 })
  expect(statusOf(at(), child, next)).toBe("running")
})
