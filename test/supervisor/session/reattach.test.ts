/** A supervisor dies by SIGKILL in one state or another; the next one on the same directory goes on. */
import { afterEach, expect, test } from "bun:test"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { findOwnGroup, findUnifiedMount } from "@computerd/supervisor/process/cgroup"
import { createWorld, newDispatch, settled, type World, type WorldOptions } from "../harness.ts"
import { isAlive, killedSupervisor, type Left, livingOf } from "./supervised.ts"

let world: World
afterEach(() => world.close())

const next = async (left: Left, options: WorldOptions = {}): Promise<World> => {
  world = await createWorld({ directory: left.directory, ...options })
  return world
}

/** The Computer's group, below which the process has its own; none where this machine has no control groups for us. */
const groupAbove = (pid: number): string | undefined => {
  const mount = findUnifiedMount(readFileSync("/proc/self/mountinfo", "utf8"))
  const own = findOwnGroup(readFileSync(`/proc/${pid}/cgroup`, "utf8"))
  return mount === undefined || own === undefined || !own.includes("computerd-")
    ? undefined
    : join(mount.point, dirname(own))
}

const connection = { url: "http://127.0.0.1:1/mcp", headers: { Authorization: "Bearer again" } }

test("an idle process is taken over: same pid, same generation, and the next Turn runs in it", async () => {
  const left = await killedSupervisor({ agent: "echo", until: "process_ready" })
  await next(left)
  expect(world.sessions.find(left.assignment.sessionId)).toMatchObject({
    state: "ready",
    generation: 1,
    pid: left.pid,
  })
  world.apply(newDispatch(left.assignment.sessionId, "after"))
  expect(await world.event("turn_settled")).toMatchObject({
    generation: 1,
    outcome: { status: "completed", result: { text: "after", pid: left.pid } },
  })
  expect(world.events.some((event) => event.type === "process_exited")).toBe(false)
})

test("a running Turn goes on, and every frame that was not acknowledged arrives once", async () => {
  const left = await killedSupervisor({ agent: "echo", text: "hold", until: "turn_started" })
  const { sessionId } = left.assignment
  await next(left)
  expect(world.sessions.find(sessionId)).toMatchObject({
    state: "running",
    turn: { id: left.command.turn.id },
  })
  world.apply({
    type: "message",
    sessionId,
    turnId: left.command.turn.id,
    message: {
      messageId: left.command.turn.id.replace("trn", "msg") as never,
      content: [{ type: "text", text: "end" }],
    },
  })
  expect(await world.event("turn_settled")).toMatchObject({
    turnId: left.command.turn.id,
    generation: 1,
    outcome: { status: "completed", result: { pid: left.pid } },
  })
  // The program wrote a line every few milliseconds throughout: none is missing and none came twice.
  const texts = [...left.events, ...world.events].flatMap((event) =>
    event.type === "turn_output" && event.text.startsWith("line ") ? [Number(event.text.slice(5))] : [],
  )
  expect(texts).toEqual(texts.map((_, index) => index))
  expect(texts.length).toBeGreaterThan(3)
  expect([...left.events, ...world.events].filter((event) => event.type === "turn_started")).toHaveLength(1)
})

test("a process that was still starting becomes ready under the next supervisor", async () => {
  const left = await killedSupervisor({ agent: "patient", until: "process_starting" })
  await next(left)
  expect(world.sessions.find(left.assignment.sessionId)).toMatchObject({ state: "starting", generation: 1 })
  await Bun.write(join(world.workspace, "ready"), "")
  expect(await world.event("process_ready")).toMatchObject({ generation: 1 })
  expect(world.sessions.find(left.assignment.sessionId)?.pid).toBe(left.pid)
})

test("a start that does not end in time is ended by the next supervisor too", async () => {
  const left = await killedSupervisor({ agent: "never-ready", until: "process_starting" })
  await next(left, { startTimeoutMs: 300 })
  expect(await world.event("process_exited")).toMatchObject({
    generation: 1,
    reason: { kind: "start_timeout", afterMs: 300 },
    next: "hold",
  })
  expect(isAlive(left.pid)).toBe(false)
})

test("a getter call that was taken and not answered is answered by the next supervisor", async () => {
  const left = await killedSupervisor({ agent: "connects", until: "process_starting", connect: "never" })
  await next(left, { connect: () => Promise.resolve({ ok: true, value: connection }) })
  const file = join(world.workspace, "connection.json")
  await settled(() => existsSync(file) && readFileSync(file, "utf8") !== "")
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ ok: true, value: connection })
  expect(world.store.processes.calls(left.assignment.sessionId)).toEqual([])
})

test("a cancel that was under way keeps its limit: a Turn that ignores it is ended with its process", async () => {
  const left = await killedSupervisor({
    agent: "ignores-cancel",
    text: "hang",
    until: "turn_started",
    begun: "cancel",
  })
  await next(left)
  expect(await world.event("process_exited")).toMatchObject({
    turnId: left.command.turn.id,
    reason: { kind: "stop_timeout", afterMs: 400 },
    next: "hold",
  })
})

test("a cancel that the process had not read reaches it, and settles the Turn", async () => {
  const left = await killedSupervisor({ agent: "echo", text: "hang", until: "turn_started", begun: "cancel" })
  await next(left)
  const all = () => [...left.events, ...world.events]
  await settled(() => all().some((event) => event.type === "turn_settled"))
  expect(all().filter((event) => event.type === "turn_settled")).toMatchObject([
    { generation: 1, outcome: { status: "interrupted" } },
  ])
})

test("a release that was under way is finished and answered once", async () => {
  const left = await killedSupervisor({ agent: "ignores-shutdown", until: "process_ready", begun: "release" })
  await next(left)
  await world.event("released")
  expect(await world.event("process_exited")).toMatchObject({ reason: { kind: "shutdown" }, expected: true })
  expect(world.sessions.find(left.assignment.sessionId)).toBeUndefined()
  expect(livingOf(left.assignment.sessionId)).toEqual([])
})

test("the exit of a process that was taken over is told by the kernel: its signal, and its code", async () => {
  const left = await killedSupervisor({ agent: "echo", until: "process_ready" })
  await next(left)
  process.kill(left.pid, "SIGKILL")
  expect(await world.event("process_exited")).toMatchObject({
    generation: 1,
    reason: { kind: "signal", signal: "SIGKILL" },
    next: "restart",
  })
  expect(await world.event("process_ready", ({ generation }) => generation === 2)).toBeDefined()
  await world.close()
  const other = await killedSupervisor({ agent: "echo", until: "process_ready" })
  await next(other)
  world.apply(newDispatch(other.assignment.sessionId, "exit 137"))
  expect(await world.event("process_exited")).toMatchObject({ reason: { kind: "code", code: 137 } })
})

test("a process that does not come back in time is ended and replaced, with the reason, and nothing is counted", async () => {
  const left = await killedSupervisor({ agent: "never-returns", until: "process_ready" })
  await next(left, { reattachMs: 300 })
  expect(await world.event("process_exited")).toMatchObject({
    generation: 1,
    reason: { kind: "not_reattached", message: "it did not come back within 300 ms" },
    next: "restart",
  })
  expect(isAlive(left.pid)).toBe(false)
  expect(await world.event("process_ready", ({ generation }) => generation === 2)).toBeDefined()
  expect(world.store.sessions.get(left.assignment.sessionId)?.recovery).toBeUndefined()
})

test("a process that is stopped by a signal is given its time once it goes on", async () => {
  const left = await killedSupervisor({ agent: "echo", until: "process_ready" })
  process.kill(left.pid, "SIGSTOP")
  await next(left, { reattachMs: 1_200 })
  // Beyond its time, and shortly before twice that.
  await Bun.sleep(2_300)
  expect(world.sessions.find(left.assignment.sessionId)).toMatchObject({ state: "ready", pid: left.pid })
  process.kill(left.pid, "SIGCONT")
  world.apply(newDispatch(left.assignment.sessionId, "on"))
  expect(await world.event("turn_settled")).toMatchObject({ generation: 1 })
})

test("a process whose control group somebody else has frozen is given its time once it is thawed", async () => {
  const left = await killedSupervisor({ agent: "echo", until: "process_ready" })
  const above = groupAbove(left.pid)
  if (above === undefined) return next(left).then(() => undefined)
  writeFileSync(join(above, "cgroup.freeze"), "1")
  await next(left, { reattachMs: 1_200 })
  // Beyond its time, and shortly before twice that.
  await Bun.sleep(2_300)
  expect(world.sessions.find(left.assignment.sessionId)).toMatchObject({ state: "ready", pid: left.pid })
  writeFileSync(join(above, "cgroup.freeze"), "0")
  world.apply(newDispatch(left.assignment.sessionId, "on"))
  expect(await world.event("turn_settled")).toMatchObject({ generation: 1 })
})

test("a port of the channel that was taken meanwhile leads to a replacement that knows why", async () => {
  const left = await killedSupervisor({ agent: "tells-recovery", until: "process_ready" })
  const port = Number(portOf(left))
  const squatter = Bun.serve({
    hostname: "127.0.0.1",
    port,
    fetch: () => new Response(null, { status: 503 }),
  })
  try {
    await next(left)
    const message = `port ${port} of its channel was taken meanwhile`
    expect(await world.event("process_exited")).toMatchObject({ reason: { kind: "not_reattached", message } })
    expect(isAlive(left.pid)).toBe(false)
    await world.event("process_ready", ({ generation }) => generation === 2)
    expect(JSON.parse(readFileSync(join(world.workspace, "recovery-2.json"), "utf8"))).toEqual({
      kind: "reconstructed",
      reason: `not taken over by the next supervisor: ${message}`,
    })
  } finally {
    await squatter.stop(true)
  }
})

test("a process without what it was promised is ended and replaced", async () => {
  const left = await killedSupervisor({ agent: "echo", until: "process_ready" })
  await next(left)
  const { sessionId } = left.assignment
  world.sessions.abandon({ sessionId, generation: 7 as never }, "of another generation")
  expect(world.sessions.find(sessionId)?.state).toBe("ready")
  world.sessions.abandon({ sessionId, generation: 1 as never }, "port 1 was taken")
  expect(await world.event("process_exited")).toMatchObject({
    reason: { kind: "not_reattached", message: "port 1 was taken" },
    next: "restart",
  })
})

test("what a process said of its failure before its supervisor died is why it ended", async () => {
  const left = await killedSupervisor({ agent: "fails-on-demand", until: "process_starting", text: "wait" })
  await next(left)
  await Bun.write(join(world.workspace, "fail"), "")
  expect(await world.event("process_exited")).toMatchObject({
    reason: { kind: "init_failed", message: "told to" },
    next: "hold",
  })
})

const portOf = ({ directory }: Left): string => {
  const { Database } = require("bun:sqlite") as typeof import("bun:sqlite")
  const database = new Database(join(directory, "state/store.sqlite"), { readonly: true })
  try {
    return database.query<{ value: string }, []>("SELECT value FROM meta WHERE key = 'channel_port'").get()!
      .value
  } finally {
    database.close()
  }
}
