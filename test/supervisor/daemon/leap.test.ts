/** The wall clock of a real supervisor leaps while it works; nothing that is timed hears of it. */
import { afterEach, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { settled } from "../harness.ts"
import { Computer } from "./computer.ts"

let computer: Computer
afterEach(() => computer.close())

const dayMs = 24 * 3_600_000
const leaps: readonly (readonly [string, number])[] = [
  ["five minutes forward", 300_000],
  ["three days forward", 3 * dayMs],
  ["a day back", -dayMs],
]

const countOf = (file: string): number => {
  try {
    return Number(readFileSync(file, "utf8"))
  } catch {
    return 0
  }
}

for (const [name, ms] of leaps) {
  test(`a wall clock that leaps ${name} ends no lease, no Turn and no start, and delays no replacement`, async () => {
    computer = await Computer.create({
      fixture: "leaping-supervisor.ts",
      fake: { leaseMs: 20_000, renewMs: 200 },
    })
    await computer.startAttached()
    const [counter, until, go] = [computer.proofFile(), computer.proofFile(), computer.proofFile()]
    const working = computer.assign()
    computer.dispatch(working, [{ do: "tick", file: counter, until }])
    const dying = computer.assign()
    computer.dispatch(dying, [{ do: "write", text: "alive" }])
    await computer.event("turn_settled", ({ sessionId }) => sessionId === dying)
    await settled(() => countOf(counter) > 3, "counting")

    await computer.leap(ms)
    const renewals = computer.controlPlane.count("renew").length
    await computer.controlPlane.until(
      () => computer.controlPlane.count("renew").length >= renewals + 3,
      "renewals go on",
    )
    const before = await computer.status()
    expect(before.lease.state).toBe("held")
    const { pid } = before.sessions.find(({ id }) => id === dying) ?? {}
    process.kill(pid ?? 0, "SIGKILL")
    await computer.event("process_ready", (event) => event.sessionId === dying && event.generation > 1)
    const count = countOf(counter)
    await settled(() => countOf(counter) > count, "counting goes on")
    await Bun.write(until, "")
    const { generation, outcome } = await computer.event(
      "turn_settled",
      ({ sessionId }) => sessionId === working,
    )
    expect({ generation: Number(generation), status: outcome.status }).toEqual({
      generation: 1,
      status: "completed",
    })
    expect(await computer.turn(dying, [{ do: "write", text: go }])).toEqual([null])
  })
}
