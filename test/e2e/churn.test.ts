/** Parking and waking, again and again. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test"
import { createRig, publish, type Rig } from "../control-plane/drivers/rig.ts"
import { clientOf, controls, input, scene, startWith, type Turn } from "./plane.ts"

setDefaultTimeout(60_000)

const rounds = 5

let rig: Rig
beforeEach(async () => {
  rig = await createRig()
})
afterEach(() => rig.close())

test("PK1 two Computers that share one place take turns ten times and keep their processes and generations", async () => {
  const plane = await rig.open({ capacity: 2 })
  await publish(plane, controls)
  const at = scene(rig, plane)
  const gate = at.file("gate")
  // Its own Turn keeps the owner's Computer from parking.
  const root = startWith(plane, "caller", { gate })
  const owner = await clientOf(await at.init(root.sessionId))
  const work = { input: input({ log: at.file("log") }) }
  const spawn = async () => {
    const turn = (await owner.ask("spawn", { agent: "worker", ...work })) as never as Turn
    await at.settled(turn)
    return turn.sessionId
  }
  const sessions = [await spawn(), await spawn()]
  const outcomes: unknown[] = []
  for (let round = 1; round <= rounds; round += 1)
    for (const sessionId of sessions) {
      const turn = (await owner.ask("enqueue", { sessionId, ...work })) as never as Turn
      outcomes.push((await at.settled(turn)).result)
    }
  const computers = sessions.map((id) => at.session(id).computerId)
  const first = computers.map((id) => at.inits(id, "worker"))
  expect(first.map((inits) => inits.length)).toEqual([1, 1])
  expect(outcomes).toEqual(
    Array.from({ length: rounds }, () => first.map(([init]) => ({ pid: init!.pid, read: null }))).flat(),
  )
  expect(sessions.map((id) => at.session(id).generation)).toEqual([1, 1])
  const parked = rig.journal.filter((event) => event.type === "driver" && event.action === "parked")
  expect(parked.length).toBeGreaterThanOrEqual(2 * rounds)
  // Never more than there is room for.
  let most = 0
  const residencies = new Map<string, string>()
  for (const event of rig.journal) {
    if (event.type !== "computer_changed") continue
    residencies.set(event.computerId, event.residency)
    const busy = [...residencies.values()].filter((one) => !["cold", "parked"].includes(one))
    most = Math.max(most, busy.length)
  }
  expect(most).toBe(2)
  await at.open(gate)
  await at.settled(root)
  await owner.close()
  expect(await plane.close()).toEqual([])
})
