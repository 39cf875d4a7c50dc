import { expect, test } from "bun:test"
import fc from "fast-check"
import { fakeClock } from "../fakes/clock.ts"

test("RT1 a timer whose time passed in a pause waits for the rest of it", () => {
  const time = fakeClock()
  const fired: number[] = []
  time.timers.after(10_000, () => fired.push(time.clock.monotonicMs()))
  const startedMs = time.clock.monotonicMs()
  time.advance(4_000)
  time.pause(300_000)
  expect(fired).toEqual([])
  time.advance(5_999)
  expect(fired).toEqual([])
  time.advance(250)
  expect(fired.map((at) => at - startedMs)).toEqual([10_000])
})

test("RT2 a pause is told once, soon after its end, with its length", async () => {
  const time = fakeClock()
  const gaps: number[] = []
  time.timers.every(1_000, () => undefined)
  time.onPause((gapMs) => gaps.push(gapMs))
  time.advance(60_000)
  time.pause(900)
  await Promise.resolve()
  expect(gaps).toEqual([])
  time.pause(5_000)
  time.advance(60_000)
  await Promise.resolve()
  expect(gaps.length).toBe(1)
  expect(gaps[0]).toBeGreaterThanOrEqual(5_000)
  expect(gaps[0]).toBeLessThan(6_000)
})

test("running time never goes back and no timer fires early in it, however often the process is paused", () => {
  const passing = fc.oneof(
    fc.record({ how: fc.constant("advance" as const), ms: fc.integer({ min: 0, max: 3_000 }) }),
    fc.record({ how: fc.constant("pause" as const), ms: fc.integer({ min: 0, max: 400_000 }) }),
  )
  fc.assert(
    fc.property(
      fc.array(passing, { maxLength: 30 }),
      fc.array(fc.integer({ min: 0, max: 20_000 })),
      (steps, delays) => {
        const time = fakeClock()
        const early: number[] = []
        let left = delays.length
        for (const delay of delays) {
          const dueMs = time.clock.monotonicMs() + delay
          time.timers.after(delay, () => {
            left -= 1
            if (time.clock.monotonicMs() < dueMs) early.push(delay)
          })
        }
        let last = time.clock.monotonicMs()
        for (const { how, ms } of steps) {
          time[how](ms)
          expect(time.clock.monotonicMs()).toBeGreaterThanOrEqual(last)
          last = time.clock.monotonicMs()
        }
        time.advance(20_000)
        expect({ early, left, pending: time.pending() }).toEqual({ early: [], left: 0, pending: 0 })
      },
    ),
  )
})
