/** Interrupting one Turn or a tree: what stops, what stays queued, what the receipt promises. */
import { expect, test } from "bun:test"
import { code, startRoot, value } from "../rig.ts"
import {
  adopt,
  ask,
  begin,
  call,
  commandsOf,
  delegate,
  dispatched,
  eachTest,
  enqueue,
  exited,
  finish,
  inspect,
  type Member,
  refusal,
  runningChild,
  seen,
  statusOf,
  stopped,
  turnSeen,
} from "./scene.ts"

const at = eachTest()

const interruptTurn = (caller: Member, target: Member, turnId = target.turnId) =>
  ask(caller, "interrupt_turn", { sessionId: target.sessionId, turnId })

const control = (caller: Member, tool: string, target: Member) =>
  ask(caller, tool, { sessionId: target.sessionId })

test("R121 R122 R123 R126 R127 interrupt_turn asks one Turn to stop; the next one waits for the acknowledgement", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  const next = await enqueue(root, child)
  const receipt = value(await interruptTurn(root, child))
  expect(Object.keys(receipt).sort()).toEqual(["id", "sessionId", "status", "turnId"])
  expect(receipt).toMatchObject({ sessionId: child.sessionId, turnId: child.turnId, status: "accepted" })
  expect(commandsOf(child, "cancel_turn")).toMatchObject([
    { turnId: child.turnId, status: "interrupted", graceMs: 10_000 },
  ])
  expect(statusOf(at(), child)).toBe("running")
  expect(dispatched(child)).toEqual([child.turnId])
  at().advance(3000)
  expect(dispatched(child)).toEqual([child.turnId])
  stopped(child, "interrupted")
  expect(statusOf(at(), child)).toBe("interrupted")
  expect(dispatched(child)).toEqual([child.turnId, next])
  expect((await inspect(root, child))["holds"]).toEqual([])
})

test("R124 interrupt_turn leaves the target's children running", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const middle = begin(await delegate(at(), root, { by: "start", agent: "lead" }))
  const leaf = await runningChild(at(), middle, "helper")
  adopt(at(), root, middle)
  value(await interruptTurn(root, middle))
  stopped(middle, "interrupted")
  expect(commandsOf(leaf, "cancel_turn")).toEqual([])
  expect(statusOf(at(), leaf)).toBe("running")
  expect(seen(at(), leaf).holds).toEqual([])
})

test("R125 each status but running gives turn_not_interruptible that names the status and why", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  const queued = await enqueue(root, child)
  expect(refusal(await interruptTurn(root, child, queued))).toMatch(
    /^turn_not_interruptible: .*queued.*not started/,
  )
  finish(child)
  expect(refusal(await interruptTurn(root, child))).toMatch(/^turn_not_interruptible: .*completed.*settled/)
  for (const status of ["failed", "interrupted", "cancelled"] as const) {
    const turnId = status === "failed" ? queued : await enqueue(root, child)
    child.supervisor.startTurn(child.sessionId, turnId)
    stopped(child, status, turnId)
    expect(refusal(await interruptTurn(root, child, turnId))).toMatch(
      new RegExp(`^turn_not_interruptible: .*${status}.*settled`),
    )
  }
})

test("R128 a Turn that will not stop is interrupted with stop_timeout and its Session waits for recovery", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  const next = await enqueue(root, child)
  value(await interruptTurn(root, child))
  exited(child, { kind: "stop_timeout", afterMs: 10_000 }, { turnId: child.turnId })
  expect(turnSeen(at(), child)).toMatchObject({ status: "interrupted", error: { code: "stop_timeout" } })
  expect(dispatched(child)).toEqual([child.turnId])
  const [hold] = (await inspect(root, child))["holds"] as { id: string; kind: string }[]
  expect(hold).toMatchObject({
    kind: "recovery",
    can_release: true,
    recovery_gap: { turn_id: child.turnId, generation: 1 },
  })
  value(await ask(root, "resume_session", { sessionId: child.sessionId, holdId: hold?.id ?? "" }))
  expect(dispatched(child)).toEqual([child.turnId, next])
})

test("R126 R130 R136 interrupt_session holds the Session and asks what runs to stop; queued Turns stay queued", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  const queued = await enqueue(root, child)
  const receipt = value(await control(root, "interrupt_session", child))
  expect(Object.keys(receipt).sort()).toEqual(["holdId", "id", "sessionId", "status"])
  expect(receipt).toMatchObject({ sessionId: child.sessionId, status: "accepted" })
  expect(statusOf(at(), child)).toBe("running")
  expect((await inspect(root, child))["holds"]).toMatchObject([{ id: receipt["holdId"], kind: "interrupt" }])
  expect(commandsOf(child, "cancel_turn")).toMatchObject([{ turnId: child.turnId, status: "interrupted" }])
  stopped(child, "interrupted")
  expect(statusOf(at(), child)).toBe("interrupted")
  expect(statusOf(at(), child, queued)).toBe("queued")
  expect(dispatched(child)).toEqual([child.turnId])
})

test("R130 R244 a Turn that was dispatched and not started goes back to the queue; a late start is asked to stop", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await delegate(at(), root, { by: "spawn", agent: "helper" })
  child.supervisor.startProcess(child.sessionId)
  expect(dispatched(child)).toEqual([child.turnId])
  const hold = value(await control(root, "interrupt_session", child))["holdId"] ?? null
  expect(statusOf(at(), child)).toBe("queued")
  const late = await delegate(at(), root, { by: "spawn", agent: "helper" })
  late.supervisor.startProcess(late.sessionId)
  value(await control(root, "interrupt_session", late))
  late.supervisor.startTurn(late.sessionId, late.turnId)
  expect(commandsOf(late, "cancel_turn")).toMatchObject([{ turnId: late.turnId, status: "interrupted" }])
  value(await ask(root, "resume_session", { sessionId: child.sessionId, holdId: hold }))
  expect(dispatched(child)).toEqual([child.turnId, child.turnId])
})

test("R129 R192 interrupting a root from outside interrupts the Turns of its children and holds those made later", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const children = [await runningChild(at(), root, "helper"), await runningChild(at(), root, "helper")]
  const stranger = startRoot(at(), "lead")
  at().receiver.control({ kind: "interrupt", sessionId: root.sessionId })
  for (const member of [root, ...children]) {
    expect(commandsOf(member, "cancel_turn")).toMatchObject([{ status: "interrupted" }])
    expect(seen(at(), member).holds).toMatchObject([{ kind: "interrupt", sessionId: root.sessionId }])
    stopped(member, "interrupted")
  }
  expect(seen(at(), stranger).holds).toEqual([])
  const [child] = children
  const queued = await enqueue(stranger, child ?? root)
  expect(dispatched(child ?? root)).not.toContain(queued)
})

test("a completion that comes before the stop stands, and the next Turn runs", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  const next = await enqueue(root, child)
  value(await interruptTurn(root, child))
  finish(child, child.turnId, "made it")
  stopped(child, "interrupted")
  expect(turnSeen(at(), child)).toMatchObject({ status: "completed", result: "made it" })
  expect(dispatched(child)).toEqual([child.turnId, next])
})

test("R126 interrupts of one Turn that race are all accepted, and it is asked to stop once", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  const answers = await Promise.all([
    interruptTurn(root, child),
    control(root, "interrupt_session", child),
    interruptTurn(root, child),
    control(root, "interrupt_session", child),
  ])
  expect(answers.map(code)).toEqual(["ok", "ok", "ok", "ok"])
  expect(commandsOf(child, "cancel_turn").length).toBe(1)
  expect(seen(at(), child).holds.length).toBe(2)
  stopped(child, "interrupted")
  expect(statusOf(at(), child)).toBe("interrupted")
})

test("a process that dies while it is asked to stop settles its Turn once, and its late words change nothing", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  value(await interruptTurn(root, child))
  exited(child, { kind: "signal", signal: "SIGKILL" }, { turnId: child.turnId })
  finish(child, child.turnId, "too late")
  expect(turnSeen(at(), child)).toMatchObject({ status: "interrupted", error: { code: "process_lost" } })
  expect(seen(at(), child).holds.map((hold) => hold.kind)).toEqual(["recovery"])
})

test("a supervisor that attaches again is told of a stop that was asked for", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  value(await interruptTurn(root, child))
  const generation = child.supervisor.generation(child.sessionId)
  const living = { sessionId: child.sessionId, generation, state: "running", turnId: child.turnId } as const
  const attached = child.supervisor.attach([living])
  if (!attached.ok) throw new Error(attached.error.message)
  expect(attached.value.run).toMatchObject([{ turn: { id: child.turnId }, cancel: "interrupted" }])
})

test("R137 a closed Session can be neither interrupted nor resumed", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  finish(child)
  value(await control(root, "close_session", child))
  expect(code(await control(root, "interrupt_session", child))).toBe("invalid_arguments")
  expect(code(await call(root, "inspect_session", { sessionId: child.sessionId }))).toBe("ok")
})
