import { afterEach, expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fail } from "@computerd/protocol/errors"
import type { SessionAssignment } from "@computerd/protocol/link"
import type { Isolation } from "@computerd/supervisor/process/cgroup"
import { listPids, readEnviron, readStat } from "@computerd/supervisor/process/procfs"
import { createWorld, newDispatch, type World, type WorldOptions } from "../harness.ts"

let world: World
afterEach(() => world.close())

const start = async (agent: string, options: WorldOptions = {}): Promise<SessionAssignment> => {
  world = await createWorld(options)
  const assignment = world.assignment(agent)
  world.apply({ type: "assign", assignment })
  return assignment
}

const livingOf = (assignment: SessionAssignment): readonly number[] =>
  listPids().filter(
    (pid) => readEnviron(pid)?.includes(assignment.sessionId) === true && readStat(pid)?.state !== "Z",
  )

test("a process that dies during a Turn is reported with its signal and that Turn, within two seconds", async () => {
  const { sessionId } = await start("echo")
  await world.event("process_ready")
  const command = world.dispatch(sessionId, "die")
  const startedMs = performance.now()
  world.apply(command)
  expect(await world.event("process_exited")).toMatchObject({
    reason: { kind: "signal", signal: "SIGKILL" },
    turnId: command.turn.id,
    expected: false,
  })
  expect(performance.now() - startedMs).toBeLessThan(2000)
  expect(world.sessions.find(sessionId)).toMatchObject({ state: "exited", turn: undefined, pid: undefined })
  expect(world.disconnects).toEqual(["1 exited"])
})

test("nothing restarts a process by itself, and the lost Turn is never run again", async () => {
  const { sessionId } = await start("echo")
  const lost = world.dispatch(sessionId, "die")
  world.apply(lost)
  await world.event("process_exited")
  world.apply(lost)
  expect(world.sessions.living()).toEqual([])
  const next = newDispatch(sessionId, "next")
  world.apply(next)
  expect(await world.event("turn_settled")).toMatchObject({ generation: 2, turnId: next.turn.id })
  expect(world.events.filter((event) => event.type === "process_starting")).toHaveLength(2)
})

test("a process that dies while idle is replaced by the next generation at once", async () => {
  const { sessionId } = await start("echo")
  await world.event("process_ready")
  process.kill(world.sessions.find(sessionId)!.pid!, "SIGKILL")
  const exit = await world.event("process_exited")
  expect(exit).toMatchObject({
    reason: { kind: "signal", signal: "SIGKILL" },
    expected: false,
    next: "restart",
  })
  expect("turnId" in exit).toBe(false)
  await world.event("process_ready", ({ generation }) => generation === 2)
  world.apply(world.dispatch(sessionId, "again"))
  expect(await world.event("turn_settled")).toMatchObject({ generation: 2 })
})

test("a failed init is the reason of the exit, and the Turn that waited for it goes back undone", async () => {
  const { sessionId } = await start("init-fails")
  const command = world.dispatch(sessionId, "hello")
  world.apply(command)
  const exit = await world.event("process_exited")
  expect(exit).toMatchObject({ reason: { kind: "init_failed", message: "init threw" }, expected: false })
  expect("turnId" in exit).toBe(false)
  expect(world.events.some((event) => event.type === "turn_settled")).toBe(false)
  expect(world.sessions.living()).toEqual([])
  world.apply(command)
  expect(await world.event("process_starting", (event) => event.generation === 2)).toBeDefined()
})

test("an exit before readiness keeps its code, and 137 is not taken for a kill", async () => {
  await start("exit-137")
  expect(await world.event("process_exited")).toMatchObject({ reason: { kind: "code", code: 137 } })
})

test("a process that is not ready in time is killed, and the reason is the deadline", async () => {
  const assignment = await start("never-ready", { startTimeoutMs: 400 })
  expect(await world.event("process_exited")).toMatchObject({
    reason: { kind: "start_timeout", afterMs: 400 },
    expected: false,
  })
  expect(livingOf(assignment)).toEqual([])
})

test("a session host that cannot be started is reported with its name", async () => {
  await start("echo", { sessionHost: ["/no/such/host"] })
  const exit = await world.event("process_exited")
  expect(exit.reason).toMatchObject({ kind: "spawn_failed" })
  expect(JSON.stringify(exit.reason)).toContain("/no/such/host")
})

test("a bundle that cannot be had is reported in the words of its failure", async () => {
  await start("echo", {
    bundles: { path: () => Promise.resolve(fail("not_found", "there is no such bundle: publish again")) },
  })
  expect(await world.event("process_exited")).toMatchObject({
    generation: 1,
    reason: { kind: "spawn_failed", message: "there is no such bundle: publish again" },
  })
})

test("a release ends the process, answers once, and forgets the Session", async () => {
  const assignment = await start("echo")
  const { sessionId } = assignment
  await world.event("process_ready")
  world.apply({ type: "release", sessionId, graceMs: 3000 })
  await world.event("released")
  expect(world.events.slice(-2).map((event) => event.type)).toEqual(["process_exited", "released"])
  expect(await world.event("process_exited")).toMatchObject({ reason: { kind: "shutdown" }, expected: true })
  expect(world.sessions.find(sessionId)).toBeUndefined()
  expect(world.disconnects).toEqual(["1 shutting_down", "1 exited"])
  expect(livingOf(assignment)).toEqual([])
})

test("a release of an unknown Session is answered too", async () => {
  world = await createWorld()
  const { sessionId } = world.assignment("echo")
  world.apply({ type: "release", sessionId, graceMs: 1 })
  await world.event("released")
})

test("a process that ignores its shutdown is killed after the grace", async () => {
  const assignment = await start("ignores-shutdown")
  await world.event("process_ready")
  world.apply({ type: "release", sessionId: assignment.sessionId, graceMs: 50 })
  await world.event("released")
  expect(world.entries.some((entry) => entry.event === "tree_killed" && entry.cause === "shutdown")).toBe(
    true,
  )
  expect(livingOf(assignment)).toEqual([])
})

const processGroup: Isolation = { kind: "process_group", reason: "the test asks for it" }

test.each([
  ["the best isolation of this machine", {}],
  ["process groups", { isolation: processGroup }],
])("with %s, escaped grandchildren do not outlive a process that is killed", async (_name, options) => {
  const assignment = await start("escapee", options)
  await world.event("process_ready")
  const pid = world.sessions.find(assignment.sessionId)!.pid!
  await world.until(() => livingOf(assignment).length >= 3)
  const tree = livingOf(assignment)
  process.kill(pid, "SIGKILL")
  await world.event("process_exited")
  expect(livingOf(assignment).filter((each) => tree.includes(each))).toEqual([])
})

test("with process groups, a process that ignores its shutdown is killed with its escaped grandchildren", async () => {
  const assignment = await start("ignores-shutdown", { isolation: processGroup })
  await world.event("process_ready")
  world.apply({ type: "release", sessionId: assignment.sessionId, graceMs: 20 })
  await world.event("released")
  expect(livingOf(assignment)).toEqual([])
})

test("the supervisor's own variables do not reach a Session process", async () => {
  await start("environment", {
    environment: { FROM_CONFIGURATION: "yes" },
    own: { ...process.env, COMPUTERD_TEST_SECRET: "must not be inherited" },
  })
  await world.event("process_ready")
  const seen: Record<string, string> = JSON.parse(
    readFileSync(join(world.workspace, "environment.json"), "utf8"),
  )
  expect(seen).toMatchObject({ FROM_CONFIGURATION: "yes", HELMR_COMPUTER_ID: world.config.computerId })
  const allowed = /^(PATH|HOME|LANG|TZ|TMPDIR|USER|SHELL|TERM|LC_[A-Z]+|FROM_CONFIGURATION|HELMR_\w+_ID)$/
  expect(Object.keys(seen).filter((name) => !allowed.test(name))).toEqual([])
})

test("a stop ends every process gracefully, calls it a shutdown, and starts nothing afterwards", async () => {
  const first = await start("echo")
  const second = world.assignment("ignores-shutdown")
  world.apply({ type: "assign", assignment: second })
  await world.until(() => world.sessions.living().filter((each) => each.state === "ready").length === 2)
  const running = world.dispatch(first.sessionId, "hang")
  world.apply(running)
  await world.event("turn_started")
  expect(await world.sessions.stop(1200)).toEqual([])
  const exits = world.events.filter((event) => event.type === "process_exited")
  expect(exits).toHaveLength(2)
  expect(exits).toContainEqual(
    expect.objectContaining({ reason: { kind: "shutdown" }, turnId: running.turn.id, expected: false }),
  )
  expect(exits).toContainEqual(expect.objectContaining({ sessionId: second.sessionId, expected: true }))
  world.apply(newDispatch(first.sessionId, "late"))
  expect(world.sessions.living()).toEqual([])
  expect([...livingOf(first), ...livingOf(second)]).toEqual([])
})

test("processes that ignore everything, stand still or hold their output open end within the one bound of the stop", async () => {
  const stubborn = await start("ignores-shutdown")
  const others = ["echo", "escapee"].map((agent) => world.assignment(agent))
  for (const assignment of others) world.apply({ type: "assign", assignment })
  await world.until(() => world.sessions.living().filter((each) => each.state === "ready").length === 3)
  process.kill(world.sessions.find(others[0]!.sessionId)!.pid!, "SIGSTOP")
  const startedMs = performance.now()
  expect(await world.sessions.stop(1500)).toEqual([])
  // Measured from its beginning: the grace of one and the killing of another do not add up.
  expect(performance.now() - startedMs).toBeLessThan(2500)
  for (const assignment of [stubborn, ...others]) expect(livingOf(assignment)).toEqual([])
})

test("a stop while a bundle is still on its way ends at once", async () => {
  await start("echo", { bundles: { path: () => new Promise(() => undefined) } })
  const startedMs = performance.now()
  expect(await world.sessions.stop(3000)).toEqual([])
  expect(performance.now() - startedMs).toBeLessThan(1000)
  expect(await world.event("process_exited")).toMatchObject({ reason: { kind: "shutdown" }, expected: true })
})

test("output of a process lies in files of the state directory", async () => {
  const assignment = await start("echo")
  await world.event("process_ready")
  for (const stream of ["stdout", "stderr"])
    expect(existsSync(join(world.directory, "state/logs", assignment.sessionId, `${stream}.log`))).toBe(true)
})
