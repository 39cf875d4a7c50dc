import { afterEach, expect, test } from "bun:test"
import { createWorld, type World } from "../harness.ts"

let world: World
afterEach(() => world.close())

test("an assigned Session gets its process at once and a dispatched Turn runs in it", async () => {
  world = await createWorld()
  const assignment = world.assignment("echo")
  world.apply({ type: "assign", assignment })
  await world.event("process_ready")
  const command = world.dispatch(assignment.sessionId, "hello")
  world.apply(command)
  const settled = await world.event("turn_settled")
  expect(settled).toMatchObject({ generation: 1, turnId: command.turn.id, outcome: { status: "completed" } })
  expect(world.events.map((event) => event.type)).toEqual([
    "process_starting",
    "process_ready",
    "turn_started",
    "turn_output",
    "turn_settled",
  ])
})
