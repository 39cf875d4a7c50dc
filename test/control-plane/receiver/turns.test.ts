/** Turns of a Session: their order, what enqueue admits, what inspection and waiting show of each status. */
import { expect, test } from "bun:test"
import { code, startRoot, text, value } from "../rig.ts"
import {
  ask,
  call,
  created,
  dispatched,
  eachTest,
  enqueue,
  exited,
  finish,
  idleRoot,
  type Member,
  pass,
  refusal,
  runningChild,
  statusOf,
  stopped,
  turnSeen,
} from "./scene.ts"

const day = 24 * 3600 * 1000
const at = eachTest({ settings: { payloadRetentionMs: day } })

const read = async (caller: Member, target: Member, turnId = target.turnId) =>
  value(await call(caller, "inspect_turn", { sessionId: target.sessionId, turnId }))

const wait = (caller: Member, target: Member, timeoutMs: number, turnId = target.turnId) =>
  call(caller, "wait_turn", { sessionId: target.sessionId, turnId, timeoutMs })

test("R114 R116 enqueue admits the next Turn, and Turns of a Session run one at a time in their order", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  const receipt = value(await ask(root, "enqueue", { sessionId: child.sessionId, input: text("2") }))
  expect(Object.keys(receipt).sort()).toEqual(["sequence", "sessionId", "turnId"])
  expect(receipt).toMatchObject({ sessionId: child.sessionId, sequence: 2 })
  const second = created({ ok: true, value: receipt }).turnId
  const third = await enqueue(root, child, "3")
  expect(dispatched(child)).toEqual([child.turnId])
  finish(child)
  expect(dispatched(child)).toEqual([child.turnId, second])
  child.supervisor.startTurn(child.sessionId, third)
  expect(statusOf(at(), child, third)).toBe("queued")
  child.supervisor.startTurn(child.sessionId, second)
  finish(child, second)
  expect(dispatched(child)).toEqual([child.turnId, second, third])
})

test("R114 Turns enqueued at once get sequences without gap or repeat", async () => {
  at().publish(["lead"])
  const root = startRoot(at(), "lead")
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => ask(root, "enqueue", { sessionId: root.sessionId, input: [] })),
  )
  const sequences = answers.map((answer) => value(answer)["sequence"])
  expect(sequences).toEqual(Array.from({ length: 40 }, (_, index) => index + 2))
})

test("R157 R158 R159 R165 R199 each of the six statuses has exactly its own fields", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  const identity = { id: child.turnId, sessionId: child.sessionId }
  const queued = await enqueue(root, child)
  expect(await read(root, child, queued)).toEqual({ ...identity, id: queued, status: "queued" })
  expect(await read(root, child)).toEqual({ ...identity, status: "running" })
  child.supervisor.emit({
    type: "turn_settled",
    sessionId: child.sessionId,
    generation: child.supervisor.generation(child.sessionId),
    turnId: child.turnId,
    outcome: { status: "completed", result: { n: 1 }, response: text("said") },
  })
  const done = { status: "completed", result: { n: 1 }, response: text("said") }
  expect(await read(root, child)).toEqual({ ...identity, ...done })
  expect(value(await wait(root, child, 1))).toEqual({ status: "settled", outcome: done })
  for (const status of ["failed", "interrupted", "cancelled"] as const) {
    const turnId = status === "failed" ? queued : await enqueue(root, child)
    child.supervisor.startTurn(child.sessionId, turnId)
    stopped(child, status, turnId)
    const error = { code: status === "failed" ? "handler_failed" : status, message: "as told" }
    expect(await read(root, child, turnId)).toEqual({ ...identity, id: turnId, status, error })
    const outcome = { status, error }
    expect(value(await wait(root, child, 1, turnId))).toEqual({ status: "settled", outcome })
  }
})

test("R199 a completed Turn without result or response has a null result and neither error nor response", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  finish(child)
  expect(value(await wait(root, child, 1))["outcome"]).toEqual({ status: "completed", result: null })
})

test("R161 expired payloads leave the Turn's identity, status and stamp", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  const failing = await enqueue(root, child)
  finish(child, child.turnId, { big: "x" })
  child.supervisor.startTurn(child.sessionId, failing)
  stopped(child, "failed", failing)
  pass(at(), day / 2, root)
  expect(await read(root, child)).toHaveProperty("result")
  pass(at(), day, root)
  const gone = await read(root, child)
  expect(Object.keys(gone).sort()).toEqual(["id", "payloadExpiredAt", "sessionId", "status"])
  expect(gone).toMatchObject({ id: child.turnId, status: "completed" })
  const failed = await read(root, child, failing)
  expect(failed).toMatchObject({ status: "failed", error: { code: "handler_failed" } })
  expect(failed).toHaveProperty("payloadExpiredAt")
  const { outcome } = value(await wait(root, child, 1))
  expect(Object.keys(Object(outcome)).sort()).toEqual(["payloadExpiredAt", "status"])
})

test("R162 R163 R165 a wait ends as soon as the Turn settles; a timeout cancels nothing and can be repeated", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  for (let repeat = 0; repeat < 3; repeat += 1) {
    const timing = wait(root, child, 1000)
    at().advance(999)
    expect(await Promise.race([timing, "pending"])).toBe("pending")
    at().advance(1)
    expect(value(await timing)).toEqual({ status: "timeout" })
  }
  expect(statusOf(at(), child)).toBe("running")
  const waiting = [wait(root, child, 30_000), wait(root, child, 30_000)]
  at().advance(200)
  finish(child)
  for (const answer of await Promise.all(waiting)) expect(value(answer)["status"]).toBe("settled")
  expect(value(await wait(root, child, 1))["status"]).toBe("settled")
})

test("R163 a wait whose client went away ends alone, and another one goes on", async () => {
  at().publish(["lead"])
  const root = startRoot(at(), "lead")
  const control = new AbortController()
  const request = {
    sessionId: root.sessionId,
    generation: root.supervisor.generation(root.sessionId),
    scope: { kind: "finite" as const, allow: [{ operation: "inspect_turn" as const, agents: ["lead"] }] },
    tool: "wait_turn",
    arguments: { sessionId: root.sessionId, turnId: root.turnId, timeoutMs: 5000 },
  }
  const { computerId } = root.supervisor
  const dropped = at().receiver.admit(computerId, root.supervisor.epoch(), request, control.signal)
  const kept = wait(root, root, 5000)
  control.abort()
  expect(code(await dropped)).toBe("admission_unavailable")
  finish(root)
  expect(value(await kept)["status"]).toBe("settled")
})

test("R245 what a wait discloses is judged when it ends: a caller that was cancelled meanwhile learns nothing", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const other = startRoot(at(), "lead")
  const turnId = await enqueue(root, other)
  const waiting = wait(root, other, 20_000, turnId)
  at().receiver.control({ kind: "cancel", sessionId: root.sessionId })
  finish(other)
  other.supervisor.startTurn(other.sessionId, turnId)
  finish(other, turnId, "secret")
  expect(code(await waiting)).toBe("authority_changed")
})

test("R172 a caller that is fenced, held, cancelled or rebuilt has lost its authority", async () => {
  at().publish(["lead", "helper"])
  const spawn = (member: Member) => ask(member, "spawn", { agent: "helper", input: [] })
  const held = startRoot(at(), "lead")
  at().receiver.control({ kind: "interrupt", sessionId: held.sessionId })
  expect(code(await spawn(held))).toBe("authority_changed")
  const cancelled = startRoot(at(), "lead")
  at().receiver.control({ kind: "cancel", sessionId: cancelled.sessionId })
  expect(code(await spawn(cancelled))).toBe("authority_changed")
  const fenced = startRoot(at(), "lead")
  at().receiver.computerLost(fenced.supervisor.computerId, "gone")
  expect(code(await spawn(fenced))).toBe("authority_changed")
  expect(at().receiver.snapshot().sessions.length).toBe(3)
})

test("R173 a lapsed lease and an unknown generation are temporary", async () => {
  at().publish(["lead"])
  const root = idleRoot(at(), "lead")
  at().advance(60_001)
  expect(refusal(await ask(root, "enqueue", { sessionId: root.sessionId, input: [] }))).toStartWith(
    "admission_unavailable: ",
  )
  pass(at(), 0, root)
  expect(code(await ask(root, "enqueue", { sessionId: root.sessionId, input: [] }))).toBe("ok")
})

test("R178 days of renewed leases change nothing about what a connection may do", async () => {
  at().publish(["lead"])
  const root = idleRoot(at(), "lead")
  for (let days = 0; days < 5; days += 1) {
    pass(at(), day, root)
    expect(code(await call(root, "inspect_session", { sessionId: root.sessionId }))).toBe("ok")
  }
})

test("the first settlement stands: later ones and the loss of the process change nothing about it", async () => {
  at().publish(["lead"])
  const root = startRoot(at(), "lead")
  finish(root, root.turnId, "first")
  stopped(root, "failed")
  exited(root, { kind: "code", code: 1 }, { turnId: root.turnId })
  expect(turnSeen(at(), root)).toMatchObject({ status: "completed", result: "first" })
  expect(turnSeen(at(), root)).not.toHaveProperty("error")
})
