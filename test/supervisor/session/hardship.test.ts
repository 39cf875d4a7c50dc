/** Sessions while the disk is full, a process does not read, and secrets must not be seen. */
import { afterEach, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { LinkCommand, SessionAssignment } from "@computerd/protocol/link"
import { readEnviron } from "@computerd/supervisor/process/procfs"
import { createWorld, newDispatch, ports, settled, type World } from "../harness.ts"

let world: World
afterEach(() => world.close())

const start = async (agent: string): Promise<SessionAssignment> => {
  world = await createWorld()
  const assignment = world.assignment(agent)
  world.apply({ type: "assign", assignment })
  await world.event("process_ready")
  return assignment
}

const storeFailures = (): number =>
  world.entries.filter((entry) => entry.event === "store_write_failed").length

test("a start that cannot be stored is tried again, and no generation is skipped or started before", async () => {
  world = await createWorld()
  world.refuse.event = "process_starting"
  const assignment = world.assignment("echo")
  world.apply({ type: "assign", assignment })
  expect(storeFailures()).toBe(1)
  expect(world.sessions.living()).toEqual([])
  world.refuse.event = undefined
  expect(await world.event("process_ready")).toMatchObject({ generation: 1 })
})

test("a settlement that cannot be stored is not lost: the process sends it again and it counts once", async () => {
  const { sessionId } = await start("echo")
  world.refuse.event = "turn_settled"
  const command = world.dispatch(sessionId, "hello")
  world.apply(command)
  await settled(() => storeFailures() > 0)
  expect(world.sessions.find(sessionId)).toMatchObject({ state: "running" })
  world.refuse.event = undefined
  await world.event("turn_settled")
  const next = newDispatch(sessionId, "next")
  world.apply(next)
  await world.event("turn_settled", (event) => event.turnId === next.turn.id)
  expect(world.events.filter((event) => event.type === "turn_settled")).toHaveLength(2)
})

test("an exit that cannot be stored is told once it can be", async () => {
  const { sessionId } = await start("echo")
  world.refuse.event = "process_exited"
  const command = world.dispatch(sessionId, "die")
  world.apply(command)
  await settled(() => storeFailures() > 0)
  world.refuse.event = undefined
  expect(await world.event("process_exited")).toMatchObject({ turnId: command.turn.id })
  expect(world.sessions.living()).toEqual([])
})

test("a process that is frozen while much is sent to it gets all of it in order when it goes on", async () => {
  const { sessionId } = await start("echo")
  const command = world.dispatch(sessionId, "hang")
  world.apply(command)
  await world.event("turn_started")
  const pid = world.sessions.find(sessionId)!.pid!
  process.kill(pid, "SIGSTOP")
  const filling = "x".repeat(200_000)
  const messages = Array.from(
    { length: 60 },
    (_, index): LinkCommand => ({
      type: "message",
      sessionId,
      turnId: command.turn.id,
      message: { messageId: ports.newId("msg"), content: [{ type: "text", text: `${index} ${filling}` }] },
    }),
  )
  for (const message of messages) world.apply(message)
  expect(world.store.processes.framesAfter(sessionId, 2).length).toBe(60)
  process.kill(pid, "SIGCONT")
  await world.event("turn_output", (event) => event.text.startsWith("message 59 "))
  const numbers = world.events.flatMap((event) =>
    event.type === "turn_output" ? [event.text.split(" ")[1]] : [],
  )
  expect(numbers).toEqual(Array.from({ length: 60 }, (_, index) => `${index}`))
})

test("a flood of output arrives complete and in order", async () => {
  const { sessionId } = await start("echo")
  world.apply(world.dispatch(sessionId, "flood"))
  await world.event("turn_settled")
  const text = world.events.map((event) => (event.type === "turn_output" ? event.text : "")).join("")
  expect(text).toBe(`${Array.from({ length: 200 }, (_, index) => `${index};`).join("")}flood`)
})

test("the secret of a process is in no file, no journal entry, no argument and no variable", async () => {
  const { sessionId } = await start("tells-secret")
  const secret = readFileSync(join(world.workspace, "secret.txt"), "utf8")
  expect(secret.length).toBeGreaterThan(40)
  const pid = world.sessions.find(sessionId)!.pid!
  const state = join(world.directory, "state")
  const places = [
    ...[...new Bun.Glob("**/*").scanSync(state)].map((name) => readFileSync(join(state, name), "latin1")),
    JSON.stringify([world.entries, world.events, world.sessions.view()]),
    readEnviron(pid) ?? "",
    readFileSync(`/proc/${pid}/cmdline`, "latin1"),
  ]
  expect(places.filter((place) => place.includes(secret))).toEqual([])
})

test("a frame of a Turn that does not run is told to the journal and changes nothing", async () => {
  const { sessionId } = await start("echo")
  world.apply(world.dispatch(sessionId, "invalid"))
  await world.event("turn_settled")
  expect(world.entries.some((entry) => entry.event === "channel_frame_invalid")).toBe(true)
})
