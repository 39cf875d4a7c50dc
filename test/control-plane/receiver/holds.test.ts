import { expect, test } from "bun:test"
import { HoldId } from "@computerd/protocol/ids"
import { code, startRoot, text, value } from "../rig.ts"
import {
  ask,
  call,
  delegate,
  dispatched,
  eachTest,
  enqueue,
  exited,
  finish,
  inspect,
  type Member,
  runningChild,
  seen,
  statusOf,
  stopped,
} from "./scene.ts"

const rig = eachTest()

const family = async (): Promise<{ readonly root: Member; readonly child: Member }> => {
  rig().publish(["lead", "helper"])
  const root = startRoot(rig(), "lead")
  return { root, child: await runningChild(rig(), root, "helper") }
}

const hold = async (caller: Member, target: Member): Promise<HoldId> =>
  HoldId.parse(value(await ask(caller, "interrupt_session", { sessionId: target.sessionId }))["holdId"])

const operator = (
  kind: "interrupt" | "storage_pressure" | "storage_relieved",
  target: Member,
): HoldId | undefined => {
  const done = rig().receiver.control({ kind, sessionId: target.sessionId })
  if (!done.ok) throw new Error(done.error.message)
  return done.value.holdId
}

const resume = (caller: Member, target: Member, holdId: HoldId, key?: string) =>
  key === undefined
    ? ask(caller, "resume_session", { sessionId: target.sessionId, holdId })
    : call(caller, "resume_session", { sessionId: target.sessionId, holdId, idempotencyKey: key })

const holdsOf = async (caller: Member, target: Member) => {
  const { holds } = await inspect(caller, target)
  if (!Array.isArray(holds)) throw new Error("no holds")
  return holds
}

test("R115 a held Session takes a Turn, which stays queued, and nothing is dispatched", async () => {
  const { root, child } = await family()
  await hold(root, child)
  stopped(child, "interrupted")
  const queued = await enqueue(root, child)
  expect(statusOf(rig(), child, queued)).toBe("queued")
  expect(dispatched(child)).toEqual([child.turnId])
})

test("R138 R143 R144 a release lets the queued Turn run and does not replay the interrupted one", async () => {
  const { root, child } = await family()
  const holdId = await hold(root, child)
  stopped(child, "interrupted")
  const queued = await enqueue(root, child)
  const receipt = value(await resume(root, child, holdId))
  expect(receipt).toEqual({
    id: expect.stringMatching(/^ctl_/),
    sessionId: child.sessionId,
    status: "accepted",
    holdId,
  })
  expect(dispatched(child)).toEqual([child.turnId, queued])
  expect(statusOf(rig(), child)).toBe("interrupted")
})

test("R145 of two holds exactly the named one is released", async () => {
  const { root, child } = await family()
  const first = await hold(root, child)
  const second = await hold(root, child)
  stopped(child, "interrupted")
  const queued = await enqueue(root, child)
  await resume(root, child, first)
  expect((await holdsOf(root, child)).map((one) => JSON.stringify(one)).join()).toContain(second)
  expect(dispatched(child)).not.toContain(queued)
  await resume(root, child, second)
  expect(dispatched(child)).toContain(queued)
})

test("a released hold is released again, under another key too", async () => {
  const { root, child } = await family()
  const holdId = await hold(root, child)
  const first = value(await resume(root, child, holdId, "one"))
  expect(value(await resume(root, child, holdId, "one"))).toEqual(first)
  expect(value(await resume(root, child, holdId, "two"))).toMatchObject({ status: "accepted", holdId })
})

test("R140 R141 an operator's interrupt cannot be released by the owner; the placer's own can", async () => {
  const { root, child } = await family()
  const own = await hold(root, child)
  const foreign = operator("interrupt", child)
  if (foreign === undefined) throw new Error("no hold")
  const shown = new Map((await holdsOf(root, child)).map((one) => [Object(one).id, Object(one).can_release]))
  expect(shown).toEqual(
    new Map([
      [own, true],
      [foreign, false],
    ]),
  )
  expect(code(await resume(root, child, foreign))).toBe("invalid_arguments")
  expect(seen(rig(), child).holds.length).toBe(2)
  expect(code(await resume(root, child, own))).toBe("ok")
})

test("R139 an inherited hold is released where it was placed, not where it is inherited", async () => {
  rig().publish(["lead", "helper"])
  const root = startRoot(rig(), "lead")
  const child = await runningChild(rig(), root, "helper")
  const inherited = operator("interrupt", root)
  expect(seen(rig(), child).holds.map((one) => [one.id, one.sessionId])).toEqual([
    [inherited, root.sessionId],
  ] as never)
  rig().receiver.control({ kind: "release", sessionId: root.sessionId, holdId: inherited as HoldId })
  expect(seen(rig(), child).holds).toEqual([])
  const own = await hold(root, child)
  const sibling = await delegate(rig(), root, { by: "spawn", agent: "helper" })
  expect(code(await resume(root, sibling, own))).toBe("invalid_arguments")
  expect(code(await resume(root, child, own))).toBe("ok")
})

test("R192 an interrupt of a root stops its whole tree, also a child that is spawned later", async () => {
  const { root, child } = await family()
  const holdId = operator("interrupt", root)
  const stops = (member: Member) => {
    member.supervisor.pull()
    return member.supervisor.commands.filter((one) => one.type === "cancel_turn").map((one) => one.status)
  }
  expect(stops(root)).toEqual(["interrupted"])
  expect(stops(child)).toEqual(["interrupted"])
  expect(code(await ask(root, "spawn", { agent: "helper", input: text("more") }))).toBe("authority_changed")
  rig().receiver.control({ kind: "release", sessionId: root.sessionId, holdId: holdId as HoldId })
  stopped(root, "interrupted")
  const late = await delegate(rig(), root, { by: "spawn", agent: "helper" })
  operator("interrupt", root)
  expect(seen(rig(), late).holds.length).toBe(1)
})

test("R142 storage pressure is shown, can be released by no Session and no operator, and goes with the pressure", async () => {
  const { root, child } = await family()
  const holdId = operator("storage_pressure", child)
  if (holdId === undefined) throw new Error("no hold")
  expect(await holdsOf(root, child)).toEqual([
    {
      id: holdId,
      session_id: child.sessionId,
      kind: "storage_pressure",
      created_at: expect.any(String),
      can_release: false,
    },
  ])
  expect(code(await resume(root, child, holdId))).toBe("invalid_arguments")
  const refused = rig().receiver.control({ kind: "release", sessionId: child.sessionId, holdId })
  expect(refused.ok).toBe(false)
  expect(statusOf(rig(), child)).toBe("running")
  operator("storage_relieved", child)
  expect(await holdsOf(root, child)).toEqual([])
})

test("R148 a recovery hold says what was lost; the owner releases it and the Session is reconstructed", async () => {
  const { root, child } = await family()
  const queued = await enqueue(root, child)
  exited(child, { kind: "signal", signal: "SIGKILL" }, { turnId: child.turnId })
  const [shown] = await holdsOf(root, child)
  expect(shown).toEqual({
    id: expect.stringMatching(/^hld_/),
    session_id: child.sessionId,
    kind: "recovery",
    created_at: expect.any(String),
    recovery_gap: { reason: "signal SIGKILL", turn_id: child.turnId, generation: 1 },
    can_release: true,
  })
  expect(dispatched(child)).not.toContain(queued)
  await resume(root, child, HoldId.parse(Object(shown).id))
  expect(dispatched(child)).toContain(queued)
  const assigned = child.supervisor.commands.findLast((one) => one.type === "assign")
  expect(assigned?.assignment).toMatchObject({
    recovery: { kind: "reconstructed", reason: "signal SIGKILL" },
    holds: [],
  })
})

test("R148 an interrupt has neither a gap nor more fields, and a hold survives reopening the store", async () => {
  const { root, child } = await family()
  const holdId = await hold(root, child)
  await rig().restart()
  root.supervisor.attach()
  expect(await holdsOf(root, child)).toEqual([
    {
      id: holdId,
      session_id: child.sessionId,
      kind: "interrupt",
      created_at: expect.any(String),
      can_release: true,
    },
  ])
})

test("a Turn that starts while the interrupt is on its way is asked to stop when it says so", async () => {
  rig().publish(["lead", "helper"])
  const root = startRoot(rig(), "lead")
  const child = await delegate(rig(), root, { by: "spawn", agent: "helper" })
  child.supervisor.startProcess(child.sessionId)
  await hold(root, child)
  expect(statusOf(rig(), child)).toBe("queued")
  child.supervisor.startTurn(child.sessionId, child.turnId)
  expect(child.supervisor.pull().map((one) => one.type)).toContain("cancel_turn")
  stopped(child, "interrupted")
  expect(statusOf(rig(), child)).toBe("interrupted")
})

test("init that fails leaves the queued Turn queued and holds the Session; the release tries again", async () => {
  rig().publish(["lead", "helper"])
  const root = startRoot(rig(), "lead")
  const child = await delegate(rig(), root, { by: "spawn", agent: "helper" })
  child.supervisor.emit({
    type: "process_starting",
    sessionId: child.sessionId,
    generation: child.supervisor.generation(child.sessionId),
  })
  exited(child, { kind: "init_failed", message: "no network" })
  expect(statusOf(rig(), child)).toBe("queued")
  const [shown] = await holdsOf(root, child)
  expect(shown).toMatchObject({
    kind: "recovery",
    recovery_gap: { reason: "init failed: no network", turn_id: null, generation: 1 },
  })
  const before = dispatched(child).length
  await resume(root, child, HoldId.parse(Object(shown).id))
  expect(dispatched(child).length).toBe(before + 1)
})

test("a process that is lost while idle is replaced with the next Turn; the third loss in a row holds the Session", async () => {
  const { root, child } = await family()
  finish(child)
  for (const losses of [1, 2, 3]) {
    expect(seen(rig(), child).holds.length).toBe(0)
    exited(child, { kind: "code", code: 1 })
    expect(seen(rig(), child).holds.length).toBe(losses === 3 ? 1 : 0)
    child.supervisor.startProcess(child.sessionId)
  }
  const queued = await enqueue(root, child)
  expect(dispatched(child)).not.toContain(queued)
})
