/** `close_session` and `cancel_session`: what drains, what is cancelled, in which order a tree closes, and races. */
import { expect, test } from "bun:test"
import { code, startRoot, value } from "../rig.ts"
import {
  ask,
  call,
  commandsOf,
  delegate,
  dispatched,
  eachTest,
  enqueue,
  exited,
  finish,
  type Member,
  runningChild,
  seen,
  statusOf,
  stopped,
  turnSeen,
} from "./scene.ts"

const at = eachTest()

const control = (caller: Member, tool: string, target: Member) =>
  ask(caller, tool, { sessionId: target.sessionId })

const sessionStatus = (member: Member) => seen(at(), member).status

const scene = async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  return { root, child: await runningChild(at(), root, "helper") }
}

test("R131 R137 close_session refuses new Turns, lets the queued ones complete, then the Session is closed", async () => {
  const { root, child } = await scene()
  const queued = [await enqueue(root, child), await enqueue(root, child)]
  const receipt = value(await control(root, "close_session", child))
  expect(receipt).toEqual({ sessionId: child.sessionId, status: "closing" })
  expect(code(await ask(root, "enqueue", { sessionId: child.sessionId, input: [] }))).toBe(
    "invalid_arguments",
  )
  expect(commandsOf(child, "cancel_turn")).toEqual([])
  finish(child)
  for (const turnId of queued) {
    expect(sessionStatus(child)).toBe("closing")
    expect(dispatched(child).at(-1)).toBe(turnId)
    child.supervisor.startTurn(child.sessionId, turnId)
    finish(child, turnId)
    expect(statusOf(at(), child, turnId)).toBe("completed")
  }
  expect(sessionStatus(child)).toBe("closed")
  expect(commandsOf(child, "release").length).toBe(1)
})

test("R132 close_session of a held Session cancels its queued Turns and closes it without a resume", async () => {
  const { root, child } = await scene()
  const queued = [await enqueue(root, child), await enqueue(root, child)]
  value(await control(root, "interrupt_session", child))
  stopped(child, "interrupted")
  expect(value(await control(root, "close_session", child))["status"]).toBe("closed")
  for (const turnId of queued) expect(statusOf(at(), child, turnId)).toBe("cancelled")
  expect(turnSeen(at(), child).status).toBe("interrupted")
})

test("R134 R135 cancel_session cancels what is queued, asks what runs to stop, and closes once it has", async () => {
  const { root, child } = await scene()
  const queued = await enqueue(root, child)
  expect(value(await control(root, "cancel_session", child))).toEqual({
    sessionId: child.sessionId,
    status: "closing",
  })
  expect(statusOf(at(), child, queued)).toBe("cancelled")
  expect(statusOf(at(), child)).toBe("running")
  expect(commandsOf(child, "cancel_turn")).toMatchObject([{ turnId: child.turnId, status: "cancelled" }])
  expect(sessionStatus(child)).toBe("closing")
  stopped(child, "cancelled")
  expect(statusOf(at(), child)).toBe("cancelled")
  expect(sessionStatus(child)).toBe("closed")
})

test("R137 idle targets answer closed; a closed one answers closed to both; a retry repeats the first receipt", async () => {
  const { root, child } = await scene()
  const busy = { sessionId: child.sessionId, idempotencyKey: "first" }
  expect(value(await call(root, "close_session", busy))["status"]).toBe("closing")
  finish(child)
  for (const tool of ["close_session", "cancel_session"])
    expect(value(await control(root, tool, child))).toEqual({ sessionId: child.sessionId, status: "closed" })
  expect(value(await call(root, "close_session", busy))["status"]).toBe("closing")
  for (const tool of ["close_session", "cancel_session"]) {
    const idle = await runningChild(at(), root, "helper")
    finish(idle)
    expect(value(await control(root, tool, idle))["status"]).toBe("closed")
  }
})

test("R129 R135 R192 cancelling a root cancels its children at once and closes the tree from the leaves up", async () => {
  const { root, child } = await scene()
  const second = await runningChild(at(), root, "helper")
  const queued = await enqueue(root, second)
  at().receiver.control({ kind: "cancel", sessionId: root.sessionId })
  expect(statusOf(at(), second, queued)).toBe("cancelled")
  for (const member of [root, child, second]) {
    expect(sessionStatus(member)).toBe("closing")
    expect(commandsOf(member, "cancel_turn")).toMatchObject([{ status: "cancelled" }])
  }
  stopped(root, "cancelled")
  stopped(child, "cancelled")
  expect([sessionStatus(root), sessionStatus(child)]).toEqual(["closing", "closed"])
  stopped(second, "cancelled")
  expect([sessionStatus(root), sessionStatus(second)]).toEqual(["closed", "closed"])
})

test("R129 R192 closing a root drains its Turns with their authority, then seals and drains its children", async () => {
  const { root, child } = await scene()
  const queued = await enqueue(root, child)
  at().receiver.control({ kind: "close", sessionId: root.sessionId })
  expect(sessionStatus(child)).toBe("open")
  const late = await delegate(at(), root, { by: "spawn", agent: "helper" })
  expect(code(await call(root, "inspect_session", { sessionId: late.sessionId }))).toBe("ok")
  finish(root)
  expect([root, child, late].map(sessionStatus)).toEqual(["closing", "closing", "closing"])
  expect(code(await ask(root, "spawn", { agent: "helper", input: [] }))).toBe("authority_changed")
  finish(child)
  child.supervisor.startTurn(child.sessionId, queued)
  finish(child, queued)
  expect([root, child].map(sessionStatus)).toEqual(["closing", "closed"])
  late.supervisor.startProcess(late.sessionId)
  late.supervisor.startTurn(late.sessionId, late.turnId)
  finish(late)
  expect([root, late].map(sessionStatus)).toEqual(["closed", "closed"])
  expect(statusOf(at(), late)).toBe("completed")
})

test("R193 closing an interrupted parent cancels the held queued work of the whole tree without a resume", async () => {
  const { root, child } = await scene()
  const stranger = startRoot(at(), "lead")
  const held = [await enqueue(root, child), await enqueue(stranger, root)] as const
  at().receiver.control({ kind: "interrupt", sessionId: root.sessionId })
  stopped(root, "interrupted")
  stopped(child, "interrupted")
  at().receiver.control({ kind: "close", sessionId: root.sessionId })
  expect(statusOf(at(), child, held[0])).toBe("cancelled")
  expect(statusOf(at(), root, held[1])).toBe("cancelled")
  expect([root, child].map(sessionStatus)).toEqual(["closed", "closed"])
})

test("R193 work that still stops when its interrupted parent is closed ends first, then the tree closes", async () => {
  const { root, child } = await scene()
  const queued = await enqueue(root, child)
  at().receiver.control({ kind: "interrupt", sessionId: root.sessionId })
  at().receiver.control({ kind: "close", sessionId: root.sessionId })
  stopped(root, "interrupted")
  expect(statusOf(at(), child, queued)).toBe("cancelled")
  expect(sessionStatus(child)).toBe("closing")
  stopped(child, "interrupted")
  expect([root, child].map(sessionStatus)).toEqual(["closed", "closed"])
})

test("a Turn that completes after cancel_session stays completed and its Session closes", async () => {
  const { root, child } = await scene()
  const request = { sessionId: child.sessionId, idempotencyKey: "k" }
  const receipt = await call(root, "cancel_session", request)
  finish(child, child.turnId, "done")
  stopped(child, "cancelled")
  expect(turnSeen(at(), child)).toMatchObject({ status: "completed", result: "done" })
  expect(sessionStatus(child)).toBe("closed")
  expect(await call(root, "cancel_session", request)).toEqual(receipt)
})

test("R135 a process that dies or will not stop under a cancel ends its Turn, and the Session closes unheld", async () => {
  const { root, child } = await scene()
  const deaf = await runningChild(at(), root, "helper")
  for (const member of [child, deaf]) value(await control(root, "cancel_session", member))
  exited(child, { kind: "signal", signal: "SIGKILL" }, { turnId: child.turnId })
  exited(deaf, { kind: "stop_timeout", afterMs: 10_000 }, { turnId: deaf.turnId })
  expect(turnSeen(at(), child)).toMatchObject({ status: "interrupted", error: { code: "process_lost" } })
  expect(turnSeen(at(), deaf)).toMatchObject({ status: "interrupted", error: { code: "stop_timeout" } })
  expect([child, deaf].map(sessionStatus)).toEqual(["closed", "closed"])
})

test("R132 a process that is lost while its Session drains holds it: what is queued is cancelled and it closes", async () => {
  const { root, child } = await scene()
  const queued = await enqueue(root, child)
  value(await control(root, "close_session", child))
  exited(child, { kind: "out_of_memory" }, { turnId: child.turnId })
  expect(statusOf(at(), child, queued)).toBe("cancelled")
  expect(sessionStatus(child)).toBe("closed")
})

test("close then cancel ends at once; cancel then close changes nothing; interrupt then cancel stops as cancelled", async () => {
  const { root, child } = await scene()
  const queued = await enqueue(root, child)
  const interrupted = await runningChild(at(), root, "helper")
  value(await control(root, "close_session", child))
  expect(statusOf(at(), child, queued)).toBe("queued")
  value(await control(root, "cancel_session", child))
  expect(statusOf(at(), child, queued)).toBe("cancelled")
  expect(value(await control(root, "close_session", child))["status"]).toBe("closing")
  expect(commandsOf(child, "cancel_turn").length).toBe(1)
  value(await control(root, "interrupt_session", interrupted))
  value(await control(root, "cancel_session", interrupted))
  expect(commandsOf(interrupted, "cancel_turn")).toMatchObject([
    { status: "interrupted" },
    { status: "cancelled" },
  ])
  stopped(interrupted, "cancelled")
  expect(sessionStatus(interrupted)).toBe("closed")
})

test("R134 a cancelled Session that never had a process is closed at once, and a late start is ignored", async () => {
  const { root } = await scene()
  const fresh = await delegate(at(), root, { by: "spawn", agent: "helper" })
  expect(value(await control(root, "cancel_session", fresh))["status"]).toBe("closed")
  fresh.supervisor.startProcess(fresh.sessionId)
  fresh.supervisor.startTurn(fresh.sessionId, fresh.turnId)
  expect(statusOf(at(), fresh)).toBe("cancelled")
  expect(sessionStatus(fresh)).toBe("closed")
})

test("R131 admissions that race a close are all before it or refused", async () => {
  const { root, child } = await scene()
  const enqueueOnce = () => ask(root, "enqueue", { sessionId: child.sessionId, input: [] })
  const answers = await Promise.all([
    enqueueOnce(),
    control(root, "close_session", child),
    enqueueOnce(),
    control(root, "cancel_session", child),
    enqueueOnce(),
  ])
  expect(answers.map(code)).toEqual(["ok", "ok", "invalid_arguments", "ok", "invalid_arguments"])
  stopped(child, "cancelled")
  expect(seen(at(), child).turns.map((turn) => turn.status)).toEqual(["cancelled", "cancelled"])
})
