import { expect, test } from "bun:test"
import { createTurns } from "@computerd/runtime-mcp/endpoint/turns"

/** An event loop that turns when the test says so. */
const loop = () => {
  let queued: (() => void)[] = []
  return {
    next: (run: () => void) => void queued.push(run),
    turn: () => {
      const now = queued
      queued = []
      for (const run of now) run()
    },
    idle: () => queued.length === 0,
  }
}

const record = () => {
  const order: number[] = []
  const work = (name: number) => () => {
    order.push(name)
    return new Response(String(name))
  }
  return { order, work }
}

test("an ordinary load runs at once and in order", () => {
  const { next } = loop()
  const { order, work } = record()
  const turns = createTurns(next)
  for (const name of [1, 2, 3]) turns.run(work(name))
  expect(order).toEqual([1, 2, 3])
})

test("what exceeds the share of a turn waits for later ones, in order and once each", async () => {
  const events = loop()
  const { order, work } = record()
  const turns = createTurns(events.next)
  const names = Array.from({ length: 30 }, (_, index) => index)
  const responses = names.map((name) => turns.run(work(name)))
  const first = order.length
  expect(first).toBeGreaterThan(0)
  expect(first).toBeLessThan(30)
  events.turn()
  expect(order.length).toBe(Math.min(30, 2 * first))
  while (!events.idle()) events.turn()
  expect(order).toEqual(names)
  const bodies = await Promise.all(responses.map(async (response) => (await response).text()))
  expect(bodies).toEqual(names.map(String))
})

test("no turn runs more than a share, however the bursts fall, and every burst begins at once", () => {
  const events = loop()
  const { order, work } = record()
  const turns = createTurns(events.next)
  const perTurn: number[] = []
  let name = 0
  for (const burst of [1, 40, 3, 100, 16, 17, 15]) {
    const before = order.length
    for (let count = 0; count < burst; count += 1) turns.run(work(name++))
    perTurn.push(order.length - before)
    while (!events.idle()) {
      const ran = order.length
      events.turn()
      perTurn.push(order.length - ran)
    }
  }
  expect(order).toEqual(Array.from({ length: name }, (_, index) => index))
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(4)
  expect(perTurn[0]).toBe(1)
})

test("work that throws rejects its own answer and stands in nobody's way", async () => {
  const events = loop()
  const { order, work } = record()
  const turns = createTurns(events.next)
  for (let name = 0; name < 20; name += 1) turns.run(work(name))
  const failing = turns.run(() => {
    throw new Error("planted")
  })
  const last = turns.run(work(99))
  const refusal = Promise.resolve(failing).catch((error: unknown) => error)
  while (!events.idle()) events.turn()
  expect(await refusal).toEqual(new Error("planted"))
  expect(await (await last).text()).toBe("99")
  expect(order.at(-1)).toBe(99)
})
