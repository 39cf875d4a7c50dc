import { afterEach, beforeEach, expect, test } from "bun:test"
import { SessionId, TurnId } from "@computerd/protocol/ids"
import { bootComputerOf, code, createRig, freshKey, type Rig, startRoot, text, value } from "../rig.ts"

let rig: Rig
beforeEach(() => {
  rig = createRig()
})
afterEach(async () => {
  await rig.close()
})

const spawn = async (rig: Rig, root: ReturnType<typeof startRoot>, agent: string) => {
  const receipt = value(
    await root.supervisor.call(root.sessionId, "spawn", {
      agent,
      input: text("child work"),
      idempotencyKey: freshKey(),
    }),
  )
  const sessionId = SessionId.parse(receipt["sessionId"])
  const turnId = TurnId.parse(receipt["turnId"])
  return { sessionId, turnId, supervisor: bootComputerOf(rig, sessionId) }
}

test("R104 R111 R162 a root spawns a child, waits for its Turn and reads the outcome", async () => {
  rig.publish(["lead", "helper"])
  const root = startRoot(rig, "lead")
  const child = await spawn(rig, root, "helper")
  child.supervisor.startProcess(child.sessionId)
  const dispatched = child.supervisor.commands.filter((command) => command.type === "dispatch")
  expect(dispatched.map((command) => command.turn.id)).toEqual([child.turnId])
  child.supervisor.startTurn(child.sessionId, child.turnId)
  const waiting = root.supervisor.call(root.sessionId, "wait_turn", {
    sessionId: child.sessionId,
    turnId: child.turnId,
    timeoutMs: 1000,
  })
  child.supervisor.settle(child.sessionId, child.turnId, { done: true })
  expect(value(await waiting)).toEqual({
    status: "settled",
    outcome: { status: "completed", result: { done: true } },
  })
  const seen = value(
    await root.supervisor.call(root.sessionId, "inspect_session", { sessionId: child.sessionId }),
  )
  expect(seen["parent_session_id"]).toBe(root.sessionId)
  expect(seen["initial_turn"]).toEqual({ id: child.turnId, status: "completed" })
})

test("R85 R171 the same spawn returns its receipt and other arguments conflict", async () => {
  rig.publish(["lead", "helper"])
  const root = startRoot(rig, "lead")
  const request = { agent: "helper", input: text("x"), idempotencyKey: "once" }
  const all = await Promise.all(
    Array.from({ length: 100 }, () => root.supervisor.call(root.sessionId, "spawn", request)),
  )
  expect(new Set(all.map((answer) => JSON.stringify(value(answer)))).size).toBe(1)
  expect(rig.receiver.snapshot().sessions.length).toBe(2)
  const other = await root.supervisor.call(root.sessionId, "spawn", { ...request, input: text("y") })
  expect(code(other)).toBe("idempotency_conflict")
})

test("a killed process settles its Turn interrupted with process_lost and holds the Session", async () => {
  rig.publish(["lead"])
  const root = startRoot(rig, "lead")
  const waiting = rig.receiver.waitTurn(root.sessionId, root.turnId, 1000, new AbortController().signal)
  root.supervisor.emit({
    type: "process_exited",
    sessionId: root.sessionId,
    generation: root.supervisor.generation(root.sessionId),
    reason: { kind: "signal", signal: "SIGKILL" },
    turnId: root.turnId,
    expected: false,
  })
  const turn = await waiting
  expect(turn).toMatchObject({ status: "interrupted", error: { code: "process_lost" } })
  expect(rig.receiver.snapshot().sessions[0]?.holds.map((hold) => hold.kind)).toEqual(["recovery"])
})
