/** What a wall clock that leaps does to leases and to what waits in the store: nothing. */
import { expect, test } from "bun:test"
import { agentOf, computerOf, createSupervisor, startRoot } from "../rig.ts"
import { eachTest, idleRoot, seen } from "./scene.ts"

const at = eachTest()
const dayMs = 24 * 3_600_000
const leaps: readonly (readonly [string, number])[] = [
  ["five minutes forward", 300_000],
  ["a day forward", dayMs],
  ["a day back", -dayMs],
]

const publish = (): void => {
  at().publish([agentOf("lead", { closeAfterIdleMs: 10_000 })])
}

const refusal = (supervisor: ReturnType<typeof createSupervisor>): string => {
  const attached = supervisor.attach()
  return attached.ok ? "ok" : attached.error.code
}

for (const [name, ms] of leaps) {
  test(`CS1 a leap of ${name} makes no lease lapse, and none last longer`, () => {
    publish()
    const { sessionId } = startRoot(at(), "lead")
    const second = createSupervisor(at(), computerOf(at(), sessionId))
    at().advance(1_000)
    at().leap(ms)
    expect(refusal(second)).toBe("admission_unavailable")
    at().advance(58_000)
    expect(refusal(second)).toBe("admission_unavailable")
    at().advance(1_001)
    expect(second.attach().ok).toBe(true)
  })

  test(`CS2 a leap of ${name} closes no idle Session early, and none late`, () => {
    publish()
    const root = idleRoot(at(), "lead")
    const status = () => seen(at(), root).status
    at().advance(4_000)
    at().leap(ms)
    at().advance(5_900)
    expect(status()).toBe("open")
    at().advance(1_100)
    expect(status()).toBe("closed")
  })
}
