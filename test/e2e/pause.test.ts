/** The system is stopped for longer than any limit in it, and goes on as if no time had passed. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test"
import { createRig, type Rig } from "../control-plane/drivers/rig.ts"
import { expected, type Pause, seeThrough } from "./pausing.ts"

setDefaultTimeout(60_000)

let rig: Rig
beforeEach(async () => {
  rig = await createRig()
})
afterEach(() => rig.close())

/** The lease and the wait are shorter than the stop. */
const pause = { stopMs: 3_500, waitMs: 2_000, settings: { leaseMs: 1_500, leaseRenewMs: 300 } } as const

const cases: readonly Pause["what"][] = ["supervisor", "computer", "everything"]

for (const what of cases) {
  test(`a stop of ${what === "everything" ? what : `the ${what}`} fails no Turn, ends no wait early, restarts nothing and changes no descriptor`, async () => {
    const { waitedMs, ...seen } = await seeThrough(rig, { ...pause, what })
    expect(seen).toEqual(expected)
    expect(waitedMs).toBeGreaterThanOrEqual(pause.waitMs)
  })
}
