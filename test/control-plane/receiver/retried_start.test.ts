/** A Computer that could not be made gave its room away; when its driver succeeds later, the limit still holds. */
import { expect, test } from "bun:test"
import { bootComputerOf, environment, freshKey } from "../rig.ts"
import { dispatched, eachTest } from "./scene.ts"

const at = eachTest({
  settings: { environments: () => ({ delegationDepthMax: 8, runningComputersMax: 1 }) },
})

const start = () => {
  const started = at().receiver.startSession({
    environment,
    agent: "lead",
    input: [],
    idempotencyKey: freshKey(),
  })
  if (!started.ok) throw new Error(started.error.message)
  return started.value
}

test("R244 with room for one, a Computer whose start is retried runs nothing beside the one that got its room", () => {
  at().publish(["lead"])
  const [broken, next] = [start(), start()]
  const [first] = at().receiver.computersToRun()
  if (first === undefined) throw new Error("no Computer is to run")
  at().receiver.computerState(first.id, "unavailable", "the disk was full")
  const running = { ...next, supervisor: bootComputerOf(at(), next.sessionId) }
  expect(dispatched(running)).toEqual([running.turnId])
  const late = { ...broken, supervisor: bootComputerOf(at(), broken.sessionId) }
  expect(dispatched(late)).toEqual([])
})
