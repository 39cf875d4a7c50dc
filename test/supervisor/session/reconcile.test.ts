import { afterEach, expect, test } from "bun:test"
import { Generation } from "@computerd/protocol/ids"
import type { SessionAssignment } from "@computerd/protocol/link"
import { readBootId } from "@computerd/supervisor/process/procfs"
import type { Attached } from "@computerd/supervisor/session/sessions"
import { createWorld, newDispatch, ports, recoveryHold, settled, type World } from "../harness.ts"
import { isAlive, killedSupervisor, livingOf } from "./supervised.ts"

let world: World
afterEach(() => world.close())

const reconcile = (...run: Attached["run"]): void =>
  world.store.transaction(() => world.sessions.reconcile(run))

const start = async (agent: string): Promise<SessionAssignment> => {
  world = await createWorld()
  const assignment = world.assignment(agent)
  world.apply({ type: "assign", assignment })
  await world.event("process_ready")
  return assignment
}

test("F2 what is listed starts, with its Turn and that Turn's messages", async () => {
  world = await createWorld()
  const assignment = world.assignment("echo")
  const { turn } = newDispatch(assignment.sessionId, "hang")
  const message = { messageId: ports.newId("msg"), content: [{ type: "text" as const, text: "hi" }] }
  reconcile({ assignment, turn, messages: [message] })
  await world.event("turn_output", (event) => event.text === "message hi")
  reconcile({ assignment, turn, messages: [message], cancel: "interrupted" })
  expect(await world.event("turn_settled")).toMatchObject({
    turnId: turn.id,
    outcome: { status: "interrupted" },
  })
  expect(world.events.filter((event) => event.type === "turn_output")).toHaveLength(1)
})

test("F2 a Session that is not listed is ended and forgotten, without a release", async () => {
  const assignment = await start("echo")
  const kept = world.assignment("echo")
  reconcile({ assignment: kept, messages: [] })
  await world.event("process_exited", (event) => event.sessionId === assignment.sessionId)
  await world.until(() => world.sessions.find(assignment.sessionId) === undefined)
  expect(world.events.some((event) => event.type === "released")).toBe(false)
  expect(world.sessions.view().map((view) => view.sessionId)).toEqual([kept.sessionId])
})

test("F2 a Turn that ended here and is still listed is not run again", async () => {
  const assignment = await start("echo")
  const command = newDispatch(assignment.sessionId, "once")
  world.apply(command)
  await world.event("turn_settled")
  reconcile({ assignment: { ...assignment, generation: 1 }, turn: command.turn, messages: [] })
  const next = newDispatch(assignment.sessionId, "next")
  world.apply(next)
  await world.event("turn_settled", (event) => event.turnId === next.turn.id)
  expect(world.events.filter((event) => event.type === "turn_started")).toHaveLength(2)
})

test("F2 a running Turn that the control plane does not list any more is stopped", async () => {
  const assignment = await start("echo")
  const command = newDispatch(assignment.sessionId, "hang")
  world.apply(command)
  await world.event("turn_started")
  reconcile({ assignment, messages: [] })
  expect(await world.event("turn_settled")).toMatchObject({ outcome: { status: "interrupted" } })
})

test("a Turn that a process of a lost store may have run is lost, and generations go on after the release", async () => {
  world = await createWorld()
  const assignment = world.assignment("echo", { generation: 4 })
  const { turn } = newDispatch(assignment.sessionId, "hello")
  reconcile({ assignment, turn, messages: [] })
  expect(await world.event("process_exited")).toMatchObject({
    generation: 4,
    turnId: turn.id,
    reason: { kind: "unknown" },
    next: "hold",
  })
  expect(world.sessions.living()).toEqual([])
  const hold = recoveryHold(assignment)
  world.apply({ type: "assign", assignment: { ...assignment, holds: [hold] } })
  expect(world.sessions.living()).toEqual([])
  world.apply({ type: "assign", assignment })
  expect(await world.event("process_ready")).toMatchObject({ generation: 5 })
})

test("a process that died with its supervisor is reported, its Turn is lost, and nothing starts before the release", async () => {
  const { directory, assignment, command, pid } = await killedSupervisor({
    agent: "escapee",
    text: "hang",
    until: "turn_started",
  })
  const { sessionId } = assignment
  process.kill(pid, "SIGKILL")
  await settled(() => !isAlive(pid))
  world = await createWorld({ directory })
  expect(await world.event("process_exited")).toMatchObject({
    generation: 1,
    turnId: command.turn.id,
    expected: false,
    next: "hold",
  })
  expect(livingOf(sessionId)).toEqual([])
  reconcile({ assignment: { ...assignment, generation: 1 }, turn: command.turn, messages: [] })
  expect(world.sessions.living()).toEqual([])
  world.apply(newDispatch(sessionId, "next"))
  expect(await world.event("turn_settled")).toMatchObject({ generation: 2 })
})

test("a process whose supervisor died before it could write its pid down is found and ended all the same", async () => {
  world = await createWorld()
  const first = world
  const assignment = world.assignment("echo")
  const { sessionId } = assignment
  first.store.transaction(() => {
    first.store.sessions.put({
      sessionId,
      assignment,
      generation: 1,
      wanted: true,
      turn: undefined,
      next: undefined,
      ending: undefined,
      finishedTurn: undefined,
      lastExit: undefined,
      recovery: undefined,
    })
    first.store.processes.put({
      sessionId,
      generation: Generation.parse(1),
      secretHash: "",
      pid: undefined,
      startTime: undefined,
      bootId: readBootId(),
      cgroup: undefined,
      startedAtMs: 0,
      received: 0,
      sent: 0,
      phase: "starting" as const,
      stop: undefined,
    })
  })
  await first.sessions.stop(1000)
  first.store.close()
  const unknown = Bun.spawn(["sleep", "600"], {
    env: { ...process.env, HELMR_SESSION_ID: sessionId },
    detached: true,
  })
  world = await createWorld({ directory: first.directory })
  await unknown.exited
  expect(unknown.signalCode).toBe("SIGKILL")
  expect(await world.event("process_exited")).toMatchObject({
    generation: 1,
    reason: { kind: "unknown" },
    next: "restart",
  })
  expect(await world.event("process_ready")).toMatchObject({ generation: 2 })
})

test("the channel's port stays the same over a restart, and a busy one is replaced and recorded", async () => {
  await start("echo")
  const port = world.store.meta.get("channel_port")
  const first = world
  await first.sessions.stop(3000)
  first.store.close()
  world = await createWorld({ directory: first.directory })
  expect(world.store.meta.get("channel_port")).toBe(port)
  await world.sessions.stop(3000)
  world.store.close()
  const squatter = Bun.serve({ hostname: "127.0.0.1", port: Number(port), fetch: () => new Response() })
  try {
    world = await createWorld({ directory: first.directory })
    expect(world.store.meta.get("channel_port")).not.toBe(port)
    expect(world.entries).toContainEqual(
      expect.objectContaining({ event: "channel_listening", previous: Number(port) }),
    )
  } finally {
    await squatter.stop(true)
  }
})
