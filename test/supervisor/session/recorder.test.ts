/** A Session process ends while no supervisor runs; the next one knows how, for as long as the recorder lives. */
import { afterEach, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { ExitReason } from "@computerd/protocol/link"
import { recorderMarker } from "@computerd/supervisor/process/environment"
import { listPids, readEnviron, readStat } from "@computerd/supervisor/process/procfs"
import { createWorld, newAssignment, settled, type World } from "../harness.ts"
import { isAlive, killedSupervisor, type Left } from "./supervised.ts"

let world: World
afterEach(() => world.close())

const computerOf = ({ directory }: { readonly directory: string }): string =>
  readFileSync(join(directory, "computer-id"), "utf8")

const recordersOf = (place: { readonly directory: string }): readonly number[] => {
  const computer = computerOf(place)
  return listPids().filter((pid) => {
    const environ = readEnviron(pid) ?? ""
    return isAlive(pid) && environ.includes(computer) && environ.includes(recorderMarker)
  })
}

/** A supervisor that was killed beside a process that ended after it. */
const left = async (end: (left: Left) => unknown): Promise<Left> => {
  const found = await killedSupervisor({ agent: "leaves-on-demand", until: "process_ready" })
  await end(found)
  await settled(() => !isAlive(found.pid))
  return found
}

const next = async ({ directory }: Left): Promise<World> => {
  world = await createWorld({ directory })
  return world
}

const ends: readonly (readonly [string, (left: Left) => unknown, ExitReason])[] = [
  [
    "an exit with code 7",
    ({ directory }) => Bun.write(join(directory, "workspace/leave"), ""),
    { kind: "code", code: 7 },
  ],
  ["SIGTERM", ({ pid }) => process.kill(pid, "SIGTERM"), { kind: "signal", signal: "SIGTERM" }],
  ["SIGKILL", ({ pid }) => process.kill(pid, "SIGKILL"), { kind: "signal", signal: "SIGKILL" }],
]

test.each(ends)("%s while no supervisor ran is told by the next one", async (_, end, reason) => {
  await next(await left(end))
  expect(await world.event("process_exited")).toMatchObject({ generation: 1, reason, next: "restart" })
  expect(await world.event("process_ready", ({ generation }) => generation === 2)).toBeDefined()
})

test("without the recorder it is unknown and not guessed", async () => {
  const found = await left((alive) => {
    for (const pid of recordersOf(alive)) process.kill(pid, "SIGKILL")
    process.kill(alive.pid, "SIGTERM")
  })
  // As long as nobody has collected it, the process table would tell.
  await settled(() => readStat(found.pid) === undefined)
  await next(found)
  expect(await world.event("process_exited")).toMatchObject({ reason: { kind: "unknown" } })
})

test("the recorder of a supervisor that was killed gives way to the next one's, and that one ends with its supervisor", async () => {
  const found = await killedSupervisor({ agent: "echo", until: "process_ready" })
  const before = recordersOf(found)
  expect(before).toHaveLength(1)
  await next(found)
  await settled(() => recordersOf(found).length === 1 && !recordersOf(found).includes(before[0]!))
  expect(world.sessions.started()).toEqual([...recordersOf(found)])
  world.apply({ type: "release", sessionId: found.assignment.sessionId, graceMs: 1000 })
  await world.event("released")
  await world.sessions.stop(3000)
  await settled(() => recordersOf(found).length === 0)
})

test("a process that is taken over twice is still told of by the third supervisor", async () => {
  const first = await killedSupervisor({ agent: "echo", until: "process_ready" })
  const { pid, directory } = first
  const second = await killedSupervisor({ agent: "echo", until: "process_ready", directory })
  expect(isAlive(pid)).toBe(true)
  process.kill(pid, "SIGTERM")
  process.kill(second.pid, "SIGKILL")
  await settled(() => !isAlive(pid) && !isAlive(second.pid))
  await next(first)
  const exitOf = async ({ assignment }: Left): Promise<ExitReason> =>
    (await world.event("process_exited", ({ sessionId }) => sessionId === assignment.sessionId)).reason
  expect(await exitOf(first)).toEqual({ kind: "signal", signal: "SIGTERM" })
  expect(await exitOf(second)).toEqual({ kind: "signal", signal: "SIGKILL" })
})

test("a recorder that is killed is replaced while its supervisor runs, and keeps what runs", async () => {
  world = await createWorld()
  const assignment = newAssignment("echo")
  world.apply({ type: "assign", assignment })
  await world.event("process_ready")
  const [pid] = await settled(() => recordersOf(world).length === 1 && recordersOf(world))
  process.kill(pid!, "SIGKILL")
  await settled(() => recordersOf(world).length === 1 && !recordersOf(world).includes(pid!))
})

test("a recorder that no store speaks of is ended by the next supervisor", async () => {
  const found = await killedSupervisor({ agent: "echo", until: "process_ready" })
  const before = recordersOf(found)
  for (const suffix of ["", "-wal", "-shm"])
    await Bun.file(join(found.directory, `state/store.sqlite${suffix}`)).delete()
  await next(found)
  await settled(() => recordersOf(found).length === 0)
  expect(before).toHaveLength(1)
  await settled(() => !isAlive(found.pid))
})
