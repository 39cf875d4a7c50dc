/** What cannot be seen and what does not exist get the same text but for the echoed id, in every tool that takes one. */
import { expect, test } from "bun:test"
import { code, startRoot, text, value } from "../rig.ts"
import {
  type Arguments,
  ask,
  begin,
  call,
  delegate,
  eachTest,
  enqueue,
  finish,
  foreigner,
  inspect,
  type Member,
  refusal,
  runningChild,
  unknownHold,
  unknownSession,
  unknownTurn,
} from "./scene.ts"

const at = eachTest()

type Named = Pick<Member, "sessionId" | "turnId">
const nobody: Named = { sessionId: unknownSession, turnId: unknownTurn }

const key = { idempotencyKey: "never used up by a refusal" }
const control = (target: Named): Arguments => ({ sessionId: target.sessionId, ...key })
const turnOf = (target: Named): Arguments => ({ sessionId: target.sessionId, turnId: target.turnId })

const owning: Readonly<Record<string, (target: Named) => Arguments>> = {
  send_turn: (target) => ({ ...turnOf(target), message: text("x"), ...key }),
  interrupt_turn: (target) => ({ ...turnOf(target), ...key }),
  interrupt_session: control,
  resume_session: (target) => ({ ...control(target), holdId: unknownHold }),
  close_session: control,
  cancel_session: control,
}

const seeing: Readonly<Record<string, (target: Named) => Arguments>> = {
  inspect_session: (target) => ({ sessionId: target.sessionId }),
  inspect_turn: turnOf,
  wait_turn: (target) => ({ ...turnOf(target), timeoutMs: 1000 }),
}

const enqueuing = (target: Named): Arguments => ({ sessionId: target.sessionId, input: [], ...key })

const everyTool = { ...owning, ...seeing, enqueue: enqueuing }

/** The refusal with the ids that it echoes taken out. */
const shape = async (caller: Member, tool: string, target: Named): Promise<string> => {
  const build = everyTool[tool as keyof typeof everyTool]
  const answer = await call(caller, tool, build(target))
  return `${tool} ${refusal(answer)}`
    .replaceAll(target.sessionId, "<session>")
    .replaceAll(target.turnId, "<turn>")
}

const expectSame = async (caller: Member, tools: readonly string[], targets: readonly Named[]) => {
  for (const tool of tools) {
    const expected = await shape(caller, tool, nobody)
    expect(expected).toContain("invalid_arguments: sessionId")
    for (const target of targets) expect(await shape(caller, tool, target)).toBe(expected)
  }
}

test("R61 R65 R66 R167 a stranger's Session answers as an unknown one to every tool but enqueue", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const stranger = startRoot(at(), "lead")
  const theirChild = await runningChild(at(), stranger, "helper")
  const child = await runningChild(at(), root, "helper")
  const tools = [...Object.keys(owning), ...Object.keys(seeing)]
  await expectSame(root, tools, [stranger, theirChild])
  await expectSame(child, tools, [root, stranger])
})

test("R64 a Session of another Environment answers as an unknown one to all tools, enqueue too", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  await expectSame(root, Object.keys(everyTool), [foreigner(at(), "lead")])
})

test("R61 a Session that it started is seen but answers every control as an unknown one", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const started = begin(await delegate(at(), root, { by: "start", agent: "lead" }))
  await expectSame(root, Object.keys(owning), [started, root])
  expect((await inspect(root, started))["id"]).toBe(started.sessionId)
})

test("R65 what a started Session spawns is not its starter's to see", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const started = begin(await delegate(at(), root, { by: "start", agent: "lead" }))
  const grandchild = await runningChild(at(), started, "helper")
  await expectSame(root, [...Object.keys(owning), ...Object.keys(seeing)], [grandchild])
})

test("R64 R167 a stranger's closed Session takes no Turn and answers as an unknown one", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const stranger = startRoot(at(), "lead")
  const gone = await runningChild(at(), stranger, "helper")
  const closing = await runningChild(at(), stranger, "helper")
  finish(gone)
  for (const target of [gone, closing]) await ask(stranger, "close_session", { sessionId: target.sessionId })
  await expectSame(root, ["enqueue"], [gone, closing])
})

test("a Session that its owner may see says that it is closing; who only sent it a Turn reads what an unknown id gets", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const stranger = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  await enqueue(stranger, child)
  await ask(root, "close_session", { sessionId: child.sessionId })
  const text = async (who: typeof root) => refusal(await call(who, "enqueue", enqueuing(child)))
  expect(await text(root)).toContain(`${child.sessionId} is closing or closed and takes no further Turn`)
  await expectSame(stranger, ["enqueue"], [child])
})

test("R66 a Turn under another Session's id answers as an unknown Turn", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const [one, two] = [await runningChild(at(), root, "helper"), await runningChild(at(), root, "helper")]
  for (const tool of ["inspect_turn", "wait_turn", "send_turn", "interrupt_turn"]) {
    const wrong = await shape(root, tool, { sessionId: one.sessionId, turnId: two.turnId })
    const none = await shape(root, tool, { sessionId: one.sessionId, turnId: unknownTurn })
    expect(wrong).toContain("invalid_arguments: turnId")
    expect(wrong).toBe(none)
  }
})

test("R66 of a stranger's Turns exactly the one that was enqueued can be read", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const stranger = startRoot(at(), "lead")
  const mine = await enqueue(root, stranger)
  const read = { sessionId: stranger.sessionId, turnId: mine }
  expect(value(await call(root, "inspect_turn", read))["status"]).toBe("queued")
  finish(stranger)
  stranger.supervisor.startTurn(stranger.sessionId, mine)
  finish(stranger, mine, "for you")
  expect(value(await call(root, "wait_turn", { ...read, timeoutMs: 1 }))["outcome"]).toEqual({
    status: "completed",
    result: "for you",
  })
  const theirs = await shape(root, "inspect_turn", stranger)
  const none = await shape(root, "inspect_turn", { sessionId: stranger.sessionId, turnId: unknownTurn })
  expect(theirs).toBe(none)
  expect(code(await call(root, "inspect_session", { sessionId: stranger.sessionId }))).toBe(
    "invalid_arguments",
  )
})

test("R139 R167 a hold of an unseen Session answers as an unknown hold", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const stranger = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  const placed = at().receiver.control({ kind: "interrupt", sessionId: stranger.sessionId })
  const theirs = placed.ok ? (placed.value.holdId ?? "") : ""
  const asked = (holdId: string) => ask(root, "resume_session", { sessionId: child.sessionId, holdId })
  const answer = refusal(await asked(theirs)).replace(theirs, "<hold>")
  expect(answer).toStartWith("invalid_arguments: holdId")
  expect(answer).toBe(refusal(await asked(unknownHold)).replace(unknownHold, "<hold>"))
})

test("R171 keys are the caller's own: another Session's key tells nothing", async () => {
  at().publish(["lead", "helper"])
  const [one, two] = [startRoot(at(), "lead"), startRoot(at(), "lead")]
  const request = { agent: "helper", input: text("a"), idempotencyKey: "shared word" }
  const first = value(await call(one, "spawn", request))
  const second = value(await call(two, "spawn", { ...request, input: text("b") }))
  expect(second["sessionId"]).not.toBe(first["sessionId"])
})

test("R65 R171 a used key does not tell an unseen Session from an unknown one", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const stranger = startRoot(at(), "lead")
  await call(root, "spawn", { agent: "helper", input: [], ...key })
  await expectSame(root, Object.keys(owning), [stranger])
})

test("R175 a receipt is told to the Computer of its Session only; elsewhere it does not exist", async () => {
  at().publish(["lead", "helper"])
  const [one, two] = [startRoot(at(), "lead"), startRoot(at(), "lead")]
  await call(one, "spawn", { agent: "helper", input: [], idempotencyKey: "k" })
  const asked = (via: Member, sessionId: Member["sessionId"]) =>
    at().receiver.receipt(via.supervisor.computerId, via.supervisor.epoch(), sessionId, "k")
  expect(asked(one, one.sessionId)?.ok).toBe(true)
  expect(asked(two, one.sessionId)).toBeUndefined()
  expect(asked(two, unknownSession)).toBeUndefined()
})
