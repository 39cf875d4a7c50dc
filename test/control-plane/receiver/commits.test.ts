/** What happens when the store cannot take a decision. Triggers stand for a full disk: they fail single writes. */
import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { code, computerOf, startRoot, text, value } from "../rig.ts"
import { call, delegate, eachTest, type Member, seen, statusOf } from "./scene.ts"

const rig = eachTest()

const inFile = (statement: string): void => {
  const file = new Database(rig().path)
  file.run(statement)
  file.close()
}

const { signal } = new AbortController()
const request = ({ sessionId, supervisor }: Member) => ({
  sessionId,
  generation: supervisor.generation(sessionId),
  scope: { kind: "finite" as const, allow: [] },
  tool: "list_sessions",
  arguments: { relation: "owned" },
})

const enqueueArguments = (sessionId: string, key: string) => ({
  sessionId,
  input: text("x"),
  idempotencyKey: key,
})

test("R173 of admissions that share a commit only the one that cannot be stored is refused, and its key is free", async () => {
  rig().publish(["lead", "helper"])
  const root = startRoot(rig(), "lead")
  const poisoned = await delegate(rig(), root, { by: "spawn", agent: "helper" })
  inFile(`create trigger full before insert on turns when new.session_id = '${poisoned.sessionId}'
          begin select raise(abort, 'disk is full'); end`)
  const answers = await Promise.all([
    call(root, "enqueue", enqueueArguments(root.sessionId, "one")),
    call(root, "enqueue", enqueueArguments(poisoned.sessionId, "two")),
    call(root, "enqueue", enqueueArguments(root.sessionId, "three")),
  ])
  expect(answers.map(code)).toEqual(["ok", "admission_unavailable", "ok"])
  expect(seen(rig(), root).turns.map((turn) => turn.sequence)).toEqual([1, 2, 3])
  expect(seen(rig(), poisoned).turns.length).toBe(1)
  expect(rig().journal).toContainEqual({
    type: "store_failed",
    operation: "admission",
    message: "disk is full",
  })
  inFile("drop trigger full")
  expect(value(await call(root, "enqueue", enqueueArguments(poisoned.sessionId, "two")))["sequence"]).toBe(2)
})

test("nobody hears of a decision that was not stored", async () => {
  rig().publish(["lead"])
  const root = startRoot(rig(), "lead")
  const told: string[] = []
  rig().receiver.onEvent((event) => told.push(event.type))
  inFile("create trigger full before insert on receipts begin select raise(abort, 'disk is full'); end")
  expect(code(await call(root, "enqueue", enqueueArguments(root.sessionId, "k")))).toBe(
    "admission_unavailable",
  )
  expect(told).toEqual([])
})

test("the loss of a Computer that could not be stored is stored as soon as the store recovers", () => {
  rig().publish(["lead"])
  const root = startRoot(rig(), "lead")
  inFile("create trigger full before update on turns begin select raise(abort, 'disk is full'); end")
  rig().receiver.computerLost(computerOf(rig(), root.sessionId), "gone")
  expect(statusOf(rig(), root)).toBe("running")
  rig().advance(1_500)
  expect(statusOf(rig(), root)).toBe("running")
  inFile("drop trigger full")
  rig().advance(1_500)
  expect(statusOf(rig(), root)).toBe("interrupted")
})

test("an event that cannot be stored is refused, not counted, and applied when it comes again", () => {
  rig().publish(["lead"])
  const root = startRoot(rig(), "lead")
  const { supervisor } = root
  const generation = supervisor.generation(root.sessionId)
  const settled = {
    type: "turn_settled" as const,
    sessionId: root.sessionId,
    generation,
    turnId: root.turnId,
    outcome: { status: "completed" as const, result: 1 },
  }
  const send = () => rig().receiver.event(supervisor.computerId, supervisor.epoch(), 4, 0, settled)
  inFile("create trigger full before update on turns begin select raise(abort, 'disk is full'); end")
  const refused = send()
  expect(refused.ok).toBe(false)
  inFile("drop trigger full")
  expect(send()).toEqual({ ok: true, value: undefined })
  expect(statusOf(rig(), root)).toBe("completed")
})

test("a listener that throws is reported and keeps no other from hearing", () => {
  const heard: string[] = []
  rig().receiver.onEvent(() => {
    throw new Error("broken view")
  })
  rig().receiver.onEvent((event) => heard.push(event.type))
  rig().publish(["lead"])
  expect(heard).toEqual(["deployment_added"])
  expect(rig().journal).toContainEqual({
    type: "task_failed",
    task: "event listener",
    message: "broken view",
  })
})

test("a report that is made while another one is told is applied after it, and each once", () => {
  rig().publish(["lead"])
  const root = startRoot(rig(), "lead")
  const { computerId } = root.supervisor
  const residencies: string[] = []
  rig().receiver.onEvent((event) => {
    if (event.type !== "computer_changed") return
    residencies.push(event.residency)
    if (event.residency === "unavailable") rig().receiver.computerState(computerId, "starting")
  })
  rig().receiver.computerLost(computerId, "gone")
  expect(residencies).toEqual(["unavailable", "starting"])
  const attached = root.supervisor.attach()
  expect(attached).toMatchObject({ ok: true, value: { lease: { epoch: 3 } } })
})

test("closing ends open waits, answers what is under way, leaves no timer, and can be repeated", async () => {
  rig().publish(["lead"])
  const root = startRoot(rig(), "lead")
  const { sessionId, turnId } = root
  const wait = call(root, "wait_turn", { sessionId, turnId, timeoutMs: 30_000 })
  const watcher = rig().receiver.waitTurn(sessionId, turnId, 30_000, new AbortController().signal)
  const mutation = call(root, "enqueue", enqueueArguments(sessionId, "last"))
  const rejected = watcher.then(
    () => "answered",
    (error: unknown) => String(error),
  )
  const { receiver } = rig()
  await Promise.all([receiver.close(), receiver.close()])
  expect(code(await wait)).toBe("admission_unavailable")
  expect(code(await mutation)).toBe("ok")
  expect(await rejected).toContain("the control plane is stopping")
  expect(rig().timers()).toBe(0)
  const late = await receiver.admit(
    root.supervisor.computerId,
    root.supervisor.epoch(),
    request(root),
    signal,
  )
  expect(code(late)).toBe("admission_unavailable")
})
