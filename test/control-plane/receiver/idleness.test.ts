/** When a Session is idle, what its children do to its clock, and when it closes for that. */
import { expect, test } from "bun:test"
import { timestamp } from "@computerd/protocol/content"
import { agentOf, code, startRoot, value, wideMaximum } from "../rig.ts"
import {
  ask,
  delegate,
  eachTest,
  enqueue,
  exited,
  finish,
  idleRoot,
  inspect,
  type Member,
  pass,
  runningChild,
  seen,
  statusOf,
  stopped,
} from "./scene.ts"

const at = eachTest()
const parentPeriod = 10_000
const childPeriod = 3_000

const publish = () => {
  const runtimeMcp = wideMaximum(["lead", "helper", "patient"]) as never
  at().publish([
    agentOf("lead", { closeAfterIdleMs: parentPeriod, runtimeMcp }),
    agentOf("helper", { closeAfterIdleMs: childPeriod }),
    agentOf("patient", { runtimeMcp }),
  ])
}

const status = (member: Member) => seen(at(), member).status
const idleSince = async (member: Member) => (await inspect(member, member))["idle_since"]
const now = () => timestamp(at().ports.now())

test("R113 a Session closes when its own period has passed since it had nothing to do, not a moment earlier", async () => {
  publish()
  const root = startRoot(at(), "lead")
  expect(await idleSince(root)).toBeNull()
  pass(at(), parentPeriod * 5, root)
  expect(status(root)).toBe("open")
  finish(root)
  expect(await idleSince(root)).toBe(now())
  pass(at(), parentPeriod - 1, root)
  expect(status(root)).toBe("open")
  pass(at(), 1, root)
  expect(status(root)).toBe("closed")
})

test("a new Turn stops the clock, and it starts afresh when that Turn has settled", async () => {
  publish()
  const root = idleRoot(at(), "lead")
  pass(at(), parentPeriod - 1, root)
  const next = await enqueue(root, root)
  expect(await idleSince(root)).toBeNull()
  pass(at(), parentPeriod, root)
  root.supervisor.startTurn(root.sessionId, next)
  finish(root, next)
  pass(at(), parentPeriod - 1, root)
  expect(status(root)).toBe("open")
  pass(at(), 1, root)
  expect(status(root)).toBe("closed")
})

test("R113 an Agent without a period never closes for idleness", () => {
  publish()
  const root = idleRoot(at(), "patient")
  at().advance(30 * 24 * 3600 * 1000)
  expect(status(root)).toBe("open")
})

test("R185 R186 spawning restarts the parent's clock; the child's own work does not", async () => {
  publish()
  const root = idleRoot(at(), "lead")
  pass(at(), 4000, root)
  const child = await runningChild(at(), root, "helper")
  const spawned = now()
  expect(await idleSince(root)).toBe(spawned)
  pass(at(), 1000, root)
  const second = await enqueue(startRoot(at(), "patient"), child)
  finish(child)
  child.supervisor.startTurn(child.sessionId, second)
  pass(at(), 1000, root)
  finish(child, second)
  expect(await idleSince(root)).toBe(spawned)
})

test("R185 starting independent work does not restart the clock, and does not keep the starter open", async () => {
  publish()
  const root = idleRoot(at(), "lead")
  const since = await idleSince(root)
  pass(at(), 4000, root)
  await delegate(at(), root, { by: "start", agent: "patient" })
  expect(await idleSince(root)).toBe(since ?? "")
  pass(at(), parentPeriod - 4000, root)
  expect(status(root)).toBe("closed")
})

test("R187 R188 a parent with an unclosed child stays open past its period and closes at once with the last child", async () => {
  publish()
  const root = idleRoot(at(), "lead")
  const [one, two] = [await runningChild(at(), root, "helper"), await runningChild(at(), root, "helper")]
  finish(one)
  pass(at(), parentPeriod * 3, root, two)
  expect([root, one, two].map(status)).toEqual(["open", "closed", "open"])
  finish(two)
  pass(at(), childPeriod - 1, root)
  expect([root, two].map(status)).toEqual(["open", "open"])
  pass(at(), 1, root)
  expect([root, two].map(status)).toEqual(["closed", "closed"])
})

test("R188 children that close before the period leave the parent its full period since the last spawn", async () => {
  publish()
  const root = idleRoot(at(), "lead")
  pass(at(), 2000, root)
  const child = await runningChild(at(), root, "helper")
  finish(child)
  pass(at(), childPeriod, root)
  expect(status(child)).toBe("closed")
  pass(at(), parentPeriod - childPeriod - 1, root)
  expect(status(root)).toBe("open")
  pass(at(), 1, root)
  expect(status(root)).toBe("closed")
})

test("R190 R191 a child held only by its parent's interrupt closes on its own period; its held Turns are cancelled", async () => {
  publish()
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  const queued = await enqueue(root, child)
  at().receiver.control({ kind: "interrupt", sessionId: root.sessionId })
  pass(at(), childPeriod * 2, root, child)
  expect(status(child)).toBe("open")
  stopped(root, "interrupted")
  stopped(child, "interrupted")
  pass(at(), childPeriod - 1, root, child)
  expect(statusOf(at(), child, queued)).toBe("queued")
  pass(at(), 1, root, child)
  expect(status(child)).toBe("closed")
  expect(statusOf(at(), child, queued)).toBe("cancelled")
  pass(at(), parentPeriod * 3, root)
  expect(status(root)).toBe("open")
})

test("R190 a Session with a hold of its own is never idle; the clock starts with the release", async () => {
  publish()
  const root = startRoot(at(), "patient")
  const child = await runningChild(at(), root, "helper")
  finish(child)
  const held = value(await ask(root, "interrupt_session", { sessionId: child.sessionId }))["holdId"] ?? null
  expect((await inspect(root, child))["idle_since"]).toBeNull()
  pass(at(), childPeriod * 3, root)
  expect(status(child)).toBe("open")
  value(await ask(root, "resume_session", { sessionId: child.sessionId, holdId: held }))
  expect((await inspect(root, child))["idle_since"]).toBe(now())
  pass(at(), childPeriod, root)
  expect(status(child)).toBe("closed")
})

test("R190 recovery and storage pressure keep a Session from closing for idleness too", async () => {
  publish()
  const root = startRoot(at(), "patient")
  const [lost, pressed] = [await runningChild(at(), root, "helper"), await runningChild(at(), root, "helper")]
  exited(lost, { kind: "out_of_memory" }, { turnId: lost.turnId })
  at().receiver.control({ kind: "storage_pressure", sessionId: pressed.sessionId })
  finish(pressed)
  pass(at(), childPeriod * 3, root)
  expect([lost, pressed].map(status)).toEqual(["open", "open"])
})

test("R188 idle clocks survive reopening the store: what came due meanwhile closes at once, the rest in its time", async () => {
  publish()
  const early = idleRoot(at(), "lead")
  at().advance(6000)
  const late = idleRoot(at(), "lead")
  await at().restart()
  at().advance(3999)
  expect([early, late].map(status)).toEqual(["open", "open"])
  at().advance(1)
  expect([early, late].map(status)).toEqual(["closed", "open"])
  await at().receiver.close()
  at().advance(60_000)
  await at().restart()
  expect(status(late)).toBe("closed")
})

test("a Session that closed for idleness has lost its authority and takes no Turn", async () => {
  publish()
  const root = idleRoot(at(), "lead")
  const other = startRoot(at(), "patient")
  pass(at(), parentPeriod, root, other)
  expect(code(await ask(root, "spawn", { agent: "helper", input: [] }))).toBe("authority_changed")
  expect(code(await ask(other, "enqueue", { sessionId: root.sessionId, input: [] }))).toBe(
    "invalid_arguments",
  )
})
