/** A supervisor that finds the disk of an earlier one, and nothing that ran: after a boot, or with a store that is lost. */

import { Database } from "bun:sqlite"
import { afterEach, expect, test } from "bun:test"
import { readdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Generation } from "@computerd/protocol/ids"
import { createStarts, startsAtOnceMax } from "@computerd/supervisor/session/starts"
import { createWorld, newDispatch, ports, settled, type World } from "../harness.ts"
import { isAlive, killedSupervisor, livingOf } from "./supervised.ts"

let world: World
afterEach(() => world.close())

test("after a boot every Session that should live is rebuilt, a bounded number at a time, and nothing is counted", async () => {
  world = await createWorld()
  const assignments = Array.from({ length: 20 }, () => world.assignment("echo"))
  for (const assignment of assignments) world.apply({ type: "assign", assignment })
  await settled(() => world.events.filter((event) => event.type === "process_ready").length === 20)
  const running = world.dispatch(assignments[0]!.sessionId, "hang")
  world.apply(running)
  await world.event("turn_started")
  const first = world
  const pids = first.sessions.view().map(({ pid }) => pid!)
  // What a power cut leaves: the disk, with another boot's name on it, and no process.
  const file = join(first.directory, "state/store.sqlite")
  first.store.database.run("VACUUM INTO ?", [`${file}.copy`])
  await first.sessions.stop(3000)
  first.store.close()
  for (const suffix of ["-wal", "-shm"]) rmSync(file + suffix, { force: true })
  renameSync(`${file}.copy`, file)
  const database = new Database(file)
  database.run("UPDATE processes SET boot_id = 'another boot'")
  database.close()
  expect(pids.filter(isAlive)).toEqual([])

  world = await createWorld({ directory: first.directory })
  await settled(() => world.events.filter((event) => event.type === "process_ready").length === 19)
  const exits = world.events.flatMap((event) => (event.type === "process_exited" ? [event] : []))
  expect(exits).toHaveLength(20)
  for (const exit of exits)
    expect(exit.reason).toEqual({ kind: "unknown", message: "the machine was started anew" })
  expect(exits.filter(({ next }) => next === "hold")).toMatchObject([{ turnId: running.turn.id }])
  expect(exits.filter(({ next }) => next === "restart")).toHaveLength(19)
  expect(world.store.sessions.all().every(({ recovery }) => recovery === undefined)).toBe(true)
  // Of those that had begun, at no time more than the bound had not come to the channel yet.
  let starting = 0
  for (const entry of world.entries) {
    if (entry.event === "process_spawned") starting += 1
    if (entry.event === "channel_connected") starting -= 1
    expect(starting).toBeLessThanOrEqual(startsAtOnceMax)
  }
}, 30_000)

test("ST1 starts wait for their turn, those that were given up make room, and nothing starts before the gate opens", async () => {
  world = await createWorld()
  const starts = createStarts(2)
  const begun: number[] = []
  const processes = Array.from({ length: 5 }, (_, index) => ({
    sessionId: ports.newId("ses"),
    generation: Generation.parse(index + 1),
  }))
  for (const process of processes) void starts.take(process).then(() => begun.push(process.generation))
  await Bun.sleep(5)
  expect(begun).toEqual([])
  starts.open()
  await Bun.sleep(5)
  expect(begun).toEqual([1, 2])
  starts.done(processes[2]!)
  starts.done(processes[0]!)
  starts.done(processes[0]!)
  await Bun.sleep(5)
  expect(begun).toEqual([1, 2, 4])
})

test("a damaged store is kept aside, what it spoke of is ended, and the Computer starts from what the control plane knows", async () => {
  const left = await killedSupervisor({ agent: "escapee", text: "hang", until: "turn_started" })
  const { sessionId } = left.assignment
  const state = join(left.directory, "state")
  writeFileSync(join(state, "store.sqlite"), "this was a store once".repeat(500))
  for (const suffix of ["-wal", "-shm"]) rmSync(join(state, `store.sqlite${suffix}`), { force: true })
  const before = livingOf(sessionId)
  expect(before.length).toBeGreaterThan(1)
  world = await createWorld({ directory: left.directory })
  const aside = world.entries.find((entry) => entry.event === "store_set_aside")
  expect(aside).toBeDefined()
  expect(
    readdirSync(state).some((name) => aside?.event === "store_set_aside" && aside.keptAs.endsWith(name)),
  ).toBe(true)
  world.store.transaction(() =>
    world.sessions.reconcile([{ assignment: { ...left.assignment, generation: 1 }, messages: [] }]),
  )
  expect(await world.event("process_ready")).toMatchObject({ generation: 2 })
  await settled(() => before.filter(isAlive).length === 0)
  expect(world.entries).toContainEqual(
    expect.objectContaining({ event: "strays_killed", sessionId, survivors: [] }),
  )
  world.apply(newDispatch(sessionId, "on"))
  expect(await world.event("turn_settled")).toMatchObject({ generation: 2 })
})
