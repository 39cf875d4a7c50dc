import { expect, test } from "bun:test"
import { createSessionTime } from "@computerd/supervisor/session/time"
import { fakeClock } from "../../fakes/clock.ts"

test("SF2 a limit goes on with what was left of it when the freeze is over", () => {
  const machine = fakeClock()
  const { timers, clock, stop, go } = createSessionTime(machine)
  const fired: string[] = []
  const startedMs = clock.monotonicMs()
  timers.after(1_000, () => fired.push("before"))
  timers.every(400, () => fired.push("every"))
  machine.advance(500)
  stop()
  timers.after(100, () => fired.push("meanwhile"))
  const cancel = timers.after(50, () => fired.push("cancelled"))
  machine.advance(60_000)
  cancel()
  expect(fired).toEqual(["every"])
  expect(clock.monotonicMs() - startedMs).toBe(500)
  go()
  machine.advance(99)
  expect(fired).toEqual(["every"])
  machine.advance(1)
  expect(fired).toEqual(["every", "meanwhile"])
  machine.advance(400)
  expect(fired).toEqual(["every", "meanwhile", "every", "before"])
})

test("stopping twice, and going on twice, is stopping and going on once", () => {
  const machine = fakeClock()
  const { clock, stop, go } = createSessionTime(machine)
  const startedMs = clock.monotonicMs()
  stop()
  machine.advance(1_000)
  stop()
  machine.advance(1_000)
  go()
  go()
  machine.advance(10)
  expect(clock.monotonicMs() - startedMs).toBe(10)
})
