/** The limit on running Computers is a setting: a restart may bring another one. */
import { afterEach, expect, test } from "bun:test"
import { createRig, environment, freshKey, type Rig, text } from "../rig.ts"

let limit: number | null = 1
let rig: Rig | undefined
afterEach(async () => {
  await rig?.close()
})

const limited = (): Rig => {
  rig = createRig({
    settings: { environments: () => ({ delegationDepthMax: 8, runningComputersMax: limit }) },
  })
  rig.publish(["lead"])
  for (let started = 0; started < 3; started += 1)
    rig.receiver.startSession({ environment, agent: "lead", input: text("go"), idempotencyKey: freshKey() })
  return rig
}

const running = (of: Rig): number => of.receiver.computersToRun().length

for (const [raised, expected] of [
  [2, 2],
  [null, 3],
] as const) {
  test(`R244 Computers that waited run when the control plane comes back with ${raised ?? "no"} limit`, async () => {
    limit = 1
    const of = limited()
    expect(running(of)).toBe(1)
    limit = raised
    await of.restart()
    expect(running(of)).toBe(expected)
  })
}

test("R244 a lower limit takes nothing from what runs, and gives nothing more", async () => {
  limit = 2
  const of = limited()
  expect(running(of)).toBe(2)
  limit = 1
  await of.restart()
  expect(running(of)).toBe(2)
})
