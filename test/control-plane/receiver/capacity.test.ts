/** A limited number of running Computers: who gets room, who is parked for it, and which waits can never end. */
import { expect, test } from "bun:test"
import type { ComputerId } from "@computerd/protocol/ids"
import { bootComputerOf, code, computerOf, environment, freshKey, startRoot, text, value } from "../rig.ts"
import {
  ask,
  begin,
  call,
  created,
  dispatched,
  eachTest,
  enqueue,
  finish,
  foreigner,
  type Member,
  statusOf,
  stopped,
} from "./scene.ts"

/** Read at every decision, so that each test sets its own. */
let running = 1
const at = eachTest({
  settings: { environments: () => ({ delegationDepthMax: 8, runningComputersMax: running }) },
})

const desired = (computerId: ComputerId) =>
  at()
    .receiver.computers()
    .find((computer) => computer.id === computerId)?.desired

/** A child whose Computer has not been made. */
const spawn = async (root: Member, computerId?: ComputerId) => {
  const where = computerId === undefined ? {} : { computerId }
  const made = created(await ask(root, "spawn", { agent: "helper", input: text("x"), ...where }))
  return { ...made, computerId: computerOf(at(), made.sessionId) }
}

type Target = Pick<Member, "sessionId" | "turnId">
const wait = (root: Member, { sessionId, turnId }: Target, timeoutMs = 1000) =>
  call(root, "wait_turn", { sessionId, turnId, timeoutMs })
const look = async (root: Member, { sessionId, turnId }: Target) =>
  value(await call(root, "inspect_turn", { sessionId, turnId }))

/** What the driver does when it is asked to park. */
const park = (computerId: ComputerId): void => {
  at().receiver.computerState(computerId, "parking")
  at().receiver.computerState(computerId, "parked")
}

const setUp = (computers: number): Member => {
  running = computers
  at().publish(["lead", "helper"])
  return startRoot(at(), "lead")
}

const boot = (target: Target): Member => ({ ...target, supervisor: bootComputerOf(at(), target.sessionId) })

test("R160 R166 with room for one, a wait for a child on a new Computer fails at once and inspection says why", async () => {
  const root = setUp(1)
  const child = await spawn(root)
  expect(desired(child.computerId)).toBe("idle")
  expect(code(await wait(root, child, 30_000))).toBe("capacity_wait_blocked")
  expect(await look(root, child)).toEqual({
    id: child.turnId,
    sessionId: child.sessionId,
    status: "queued",
    waitBlocked: true,
  })
  const second = await enqueue(root, child)
  expect(code(await wait(root, { ...child, turnId: second }))).toBe("capacity_wait_blocked")
  expect(code(await ask(root, "cancel_session", { sessionId: child.sessionId }))).toBe("ok")
  expect(value(await wait(root, child))).toMatchObject({
    status: "settled",
    outcome: { status: "cancelled" },
  })
})

test("R166 with room for two the child's Computer runs and its wait is an ordinary one", async () => {
  const root = setUp(2)
  const child = await spawn(root)
  expect(desired(child.computerId)).toBe("running")
  const waiting = wait(root, child)
  at().advance(1000)
  expect(value(await waiting)).toEqual({ status: "timeout" })
  expect(await look(root, child)).not.toHaveProperty("waitBlocked")
})

test("R166 a Turn that waits for room which other work holds is not blocked: that work can end", async () => {
  const root = setUp(2)
  const busy = begin(boot(await spawn(root)))
  const third = await spawn(root)
  expect(desired(third.computerId)).toBe("idle")
  const waiting = wait(root, third)
  at().advance(1000)
  expect(value(await waiting)).toEqual({ status: "timeout" })
  expect(await look(root, third)).not.toHaveProperty("waitBlocked")
  finish(busy)
  expect(desired(busy.supervisor.computerId)).toBe("parked")
  park(busy.supervisor.computerId)
  expect(desired(third.computerId)).toBe("running")
})

test("R166 neither a child on the caller's own Computer nor a held Turn is blocked by capacity", async () => {
  const root = setUp(1)
  const shared = await spawn(root, root.supervisor.computerId)
  const apart = await spawn(root)
  value(await ask(root, "interrupt_session", { sessionId: apart.sessionId }))
  for (const target of [shared, apart]) {
    expect(await look(root, target)).not.toHaveProperty("waitBlocked")
    const waiting = wait(root, target)
    at().advance(1000)
    expect(value(await waiting)).toEqual({ status: "timeout" })
  }
})

test("R160 R166 the blocked way out: the caller's Turn ends, its Computer parks, the child runs, and the caller continues", async () => {
  const root = setUp(1)
  const child = await spawn(root)
  expect(code(await wait(root, child))).toBe("capacity_wait_blocked")
  const own = root.supervisor.computerId
  finish(root)
  expect(desired(own)).toBe("parked")
  expect(desired(child.computerId)).toBe("idle")
  at().receiver.computerState(own, "parking")
  expect(desired(child.computerId)).toBe("idle")
  at().receiver.computerState(own, "parked")
  expect(desired(child.computerId)).toBe("running")
  const working = begin(boot(child))
  finish(working)
  expect(statusOf(at(), working)).toBe("completed")
})

test("R189 an idle parent's Computer parks although its child runs on another one; a busy one never parks", async () => {
  const root = setUp(2)
  const child = begin(boot(await spawn(root)))
  const other = await spawn(root)
  expect(desired(root.supervisor.computerId)).toBe("running")
  expect(desired(child.supervisor.computerId)).toBe("running")
  finish(root)
  expect(desired(root.supervisor.computerId)).toBe("parked")
  expect(desired(child.supervisor.computerId)).toBe("running")
  park(root.supervisor.computerId)
  expect(desired(other.computerId)).toBe("running")
  expect(statusOf(at(), child)).toBe("running")
})

test("R189 nothing parks while nobody waits for room", async () => {
  const root = setUp(2)
  const child = begin(boot(await spawn(root)))
  finish(root)
  finish(child)
  at().advance(24 * 3600 * 1000)
  expect([root, child].map((one) => desired(one.supervisor.computerId))).toEqual(["running", "running"])
})

test("R244 a parked Computer is given no Turn; it is wanted again for one and keeps generation and scope", async () => {
  const root = setUp(1)
  const child = await spawn(root)
  finish(root)
  const own = root.supervisor.computerId
  park(own)
  const working = begin(boot(child))
  const generation = root.supervisor.generation(root.sessionId)
  const mine = await enqueue(working, root)
  expect(dispatched(root)).toEqual([root.turnId])
  expect(desired(own)).not.toBe("running")
  finish(working)
  park(working.supervisor.computerId)
  expect(desired(own)).toBe("running")
  at().receiver.computerState(own, "restoring")
  const living = [{ sessionId: root.sessionId, generation, state: "ready" as const }]
  expect(root.supervisor.attach(living).ok).toBe(true)
  expect(dispatched(root)).toEqual([root.turnId, mine])
  root.supervisor.startTurn(root.sessionId, mine)
  expect(code(await call(root, "inspect_session", { sessionId: root.sessionId }))).toBe("ok")
})

test("R244 room goes to who has waited longest, and never to more Computers than the limit", async () => {
  const root = setUp(2)
  const queue: (Target & { readonly computerId: ComputerId })[] = []
  for (let index = 0; index < 4; index += 1) {
    queue.push(await spawn(root))
    at().advance(10)
  }
  const runs = () => queue.map((child) => desired(child.computerId) === "running")
  expect(runs()).toEqual([true, false, false, false])
  for (let index = 0; index < 3; index += 1) {
    const done = queue[index]
    if (done === undefined) break
    finish(begin(boot(done)))
    expect(desired(done.computerId)).toBe("parked")
    park(done.computerId)
    expect(runs()).toEqual(queue.map((_, place) => place === index + 1))
  }
})

test("R244 a Computer that cannot be made gives its room to the next one, and its Turn stays queued with the reason", async () => {
  const root = setUp(2)
  const [broken, next] = [await spawn(root), await spawn(root)]
  expect(desired(next.computerId)).toBe("idle")
  at().receiver.computerState(broken.computerId, "unavailable", "secrets need a vault")
  expect(desired(next.computerId)).toBe("running")
  const waiting = at().receiver.turn(broken.sessionId, broken.turnId)
  expect(waiting).toMatchObject({ status: "queued" })
  expect(waiting?.waitingFor).toContain("secrets need a vault")
})

test("R189 an interrupted Session keeps its room until the stop is acknowledged, then gives it to who waits", () => {
  const root = setUp(1)
  const outside = { environment, agent: "lead", input: [], idempotencyKey: freshKey() }
  const next = at().receiver.startSession(outside)
  if (!next.ok) throw new Error(next.error.message)
  at().receiver.control({ kind: "interrupt", sessionId: root.sessionId })
  expect(desired(root.supervisor.computerId)).toBe("running")
  stopped(root, "interrupted")
  expect(desired(root.supervisor.computerId)).toBe("parked")
  park(root.supervisor.computerId)
  expect(desired(computerOf(at(), next.value.sessionId))).toBe("running")
})

test("R244 a held Turn wants no room; it does once the hold is released", async () => {
  const root = setUp(1)
  const child = await spawn(root)
  const { holdId } = value(await ask(root, "interrupt_session", { sessionId: child.sessionId }))
  const next = await enqueue(root, root)
  finish(root)
  root.supervisor.startTurn(root.sessionId, next)
  expect(desired(root.supervisor.computerId)).toBe("running")
  value(await ask(root, "resume_session", { sessionId: child.sessionId, holdId: holdId ?? null }))
  expect(await look(root, child)).toMatchObject({ waitBlocked: true })
  finish(root, next)
  expect(desired(root.supervisor.computerId)).toBe("parked")
  park(root.supervisor.computerId)
  expect(desired(child.computerId)).toBe("running")
})

test("R244 each Environment has room of its own", () => {
  const root = setUp(1)
  const other = foreigner(at(), "lead")
  expect([root, other].map((one) => desired(one.supervisor.computerId))).toEqual(["running", "running"])
  expect(statusOf(at(), other)).toBe("running")
})
