/** Processes that die under a supervisor that lives: what replaces them, when, and what the next `init` is told. */
import { afterEach, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { LinkEvent, SessionAssignment } from "@computerd/protocol/link"
import { lossPolicy } from "@computerd/supervisor/process/loss"
import { createWorld, newDispatch, recoveryHold, settled, type World, type WorldOptions } from "../harness.ts"
import { isAlive } from "./supervised.ts"

let world: World
afterEach(() => world.close())

const start = async (agent: string, options: WorldOptions = {}): Promise<SessionAssignment> => {
  world = await createWorld(options)
  const assignment = world.assignment(agent)
  world.apply({ type: "assign", assignment })
  return assignment
}

const readyIn = (generation: number) =>
  world.event("process_ready", (event) => Number(event.generation) === generation)

const exits = () =>
  world.events.filter(
    (event): event is Extract<LinkEvent, { type: "process_exited" }> => event.type === "process_exited",
  )

const killIdle = async ({ sessionId }: SessionAssignment, generation: number): Promise<void> => {
  await readyIn(generation)
  const pid = await settled(() => {
    const view = world.sessions.find(sessionId)
    return view?.state === "ready" && view.generation === generation ? view.pid : undefined
  })
  process.kill(pid, "SIGKILL")
  await world.event("process_exited", (event) => Number(event.generation) === generation)
}

const recoveryTold = (generation: number) =>
  JSON.parse(readFileSync(join(world.workspace, `recovery-${generation}.json`), "utf8"))

test("the next init is told that it follows a loss, and why; the first one that it does not", async () => {
  const assignment = await start("tells-recovery")
  await killIdle(assignment, 1)
  await readyIn(2)
  expect(recoveryTold(1)).toEqual({ kind: "initial" })
  expect(recoveryTold(2)).toEqual({ kind: "reconstructed", reason: "signal SIGKILL" })
})

test("losses in a row are repaired a bounded number of times, with growing waits, and then left to a person", async () => {
  const assignment = await start("echo")
  for (let generation = 1; generation <= lossPolicy.attemptsMax + 1; generation += 1)
    await killIdle(assignment, generation)
  expect(exits().map((exit) => exit.next)).toEqual([
    ...Array.from({ length: lossPolicy.attemptsMax }, () => "restart" as const),
    "hold",
  ])
  expect(exits().every((exit) => exit.turnId === undefined && !exit.expected)).toBe(true)
  const losses = world.entries.flatMap((entry) => (entry.event === "process_lost" ? [entry] : []))
  expect(losses[0]?.delayMs).toBe(0)
  expect(losses.at(-1)).toMatchObject({ name: "lost_too_often", next: "hold" })
  // A wait that was said is a wait that was kept.
  const starts = world.entries.flatMap((entry) => (entry.event === "process_spawned" ? [entry.atMs] : []))
  for (const [index, entry] of losses.slice(0, -1).entries())
    expect((starts[index + 1] ?? 0) - entry.atMs).toBeGreaterThanOrEqual(entry.delayMs - 2)
  expect(world.sessions.living()).toEqual([])
  world.apply({ type: "assign", assignment: { ...assignment, holds: [recoveryHold(assignment)] } })
  expect(world.sessions.living()).toEqual([])
  world.apply({ type: "assign", assignment })
  await killIdle(assignment, lossPolicy.attemptsMax + 2)
  // The release has forgotten what came before.
  expect(exits().at(-1)).toMatchObject({ next: "restart" })
  await readyIn(lossPolicy.attemptsMax + 3)
}, 30_000)

test("a Turn that was settled in between ends the series of losses", async () => {
  const assignment = await start("echo")
  await killIdle(assignment, 1)
  await readyIn(2)
  expect(world.store.sessions.get(assignment.sessionId)?.recovery?.losses).toHaveLength(1)
  world.apply(newDispatch(assignment.sessionId, "work"))
  await world.event("turn_settled")
  expect(world.store.sessions.get(assignment.sessionId)?.recovery).toBeUndefined()
})

test("a lost Turn leaves its Session without a process until the release, which starts the next generation", async () => {
  const assignment = await start("echo")
  const { sessionId } = assignment
  const lost = world.dispatch(sessionId, "die")
  world.apply(lost)
  expect(await world.event("process_exited")).toMatchObject({ turnId: lost.turn.id, next: "hold" })
  const held = { ...assignment, holds: [recoveryHold(assignment)] }
  world.apply({ type: "assign", assignment: held })
  world.apply(lost)
  expect(world.sessions.living()).toEqual([])
  world.apply({ type: "assign", assignment })
  await readyIn(2)
  expect(world.events.filter((event) => event.type === "turn_started")).toHaveLength(1)
})

test("a hold that lands during init makes its failure uncounted, and init runs again after the release", async () => {
  const assignment = await start("fails-on-demand")
  const { sessionId } = assignment
  await settled(() => world.sessions.find(sessionId)?.pid)
  const held = { ...assignment, holds: [{ ...recoveryHold(assignment), kind: "interrupt" as const }] }
  world.apply({ type: "assign", assignment: held })
  await Bun.write(join(world.workspace, "fail"), "")
  expect(await world.event("process_exited")).toMatchObject({
    generation: 1,
    reason: { kind: "init_failed" },
    next: "after_release",
  })
  expect(world.store.sessions.get(sessionId)).toMatchObject({ wanted: true, recovery: undefined })
  await Bun.sleep(50)
  expect(world.sessions.living()).toEqual([])
  await Bun.file(join(world.workspace, "fail")).delete()
  world.apply({ type: "assign", assignment })
  const pid = await settled(() => {
    const view = world.sessions.find(sessionId)
    return view?.generation === 2 ? view.pid : undefined
  })
  expect(isAlive(pid)).toBe(true)
})

test("a failed init is left to a person at once, and tried again with the release", async () => {
  const assignment = await start("init-fails")
  expect(await world.event("process_exited")).toMatchObject({ reason: { kind: "init_failed" }, next: "hold" })
  world.apply({ type: "assign", assignment: { ...assignment, holds: [recoveryHold(assignment)] } })
  expect(world.sessions.living()).toEqual([])
  world.apply({ type: "assign", assignment })
  expect(await world.event("process_exited", (event) => Number(event.generation) === 2)).toMatchObject({
    reason: { kind: "init_failed" },
    next: "hold",
  })
})

test("a wait before a replacement goes on under the next supervisor, and a release ends it", async () => {
  const assignment = await start("echo")
  const { sessionId } = assignment
  await readyIn(1)
  const losses = [Date.now(), Date.now()]
  await killIdle(assignment, 1)
  await readyIn(2)
  world.store.transaction(() => {
    const row = world.store.sessions.get(sessionId)
    if (row !== undefined) world.store.sessions.put({ ...row, recovery: { losses, delayMs: 60_000 } })
  })
  const first = world
  await first.sessions.stop(3000)
  first.store.close()
  world = await createWorld({ directory: first.directory })
  world.store.transaction(() => world.sessions.reconcile([{ assignment, messages: [] }]))
  await Bun.sleep(50)
  expect(world.sessions.living()).toEqual([])
  world.apply({ type: "assign", assignment: { ...assignment, holds: [recoveryHold(assignment)] } })
  world.apply({ type: "assign", assignment })
  await readyIn(3)
})

test("a loss at the very moment of a full disk is told and repaired once there is room", async () => {
  const assignment = await start("echo")
  await readyIn(1)
  world.refuse.event = "process_exited"
  process.kill(world.sessions.find(assignment.sessionId)!.pid!, "SIGKILL")
  await settled(() => world.entries.some((entry) => entry.event === "store_write_failed"))
  expect(exits()).toEqual([])
  world.refuse.event = undefined
  expect(await world.event("process_exited")).toMatchObject({ next: "restart" })
  await readyIn(2)
})
