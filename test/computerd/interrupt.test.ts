import { expect, test } from "bun:test"
import { createInterrupt, interruptedExitCode, type StopSignal } from "@computerd/computerd/interrupt"
import { type Relation, startersOf, watchStarter } from "@computerd/computerd/starter"

const signals = () => {
  const listeners = new Map<StopSignal, Set<() => void>>()
  return {
    listen: (signal: StopSignal, listener: () => void) => {
      const set = listeners.get(signal) ?? new Set()
      listeners.set(signal, set.add(listener))
      return () => set.delete(listener)
    },
    send: (signal: StopSignal) => {
      for (const listener of listeners.get(signal) ?? []) listener()
    },
    count: () => [...listeners.values()].reduce((sum, set) => sum + set.size, 0),
  }
}

test("the first signal stops, the second kills, whichever they are", () => {
  const { listen, send } = signals()
  const interrupt = createInterrupt(listen)
  expect([interrupt.stop.aborted, interrupt.kill.aborted, interrupt.first()]).toEqual([
    false,
    false,
    undefined,
  ])
  send("SIGTERM")
  expect([interrupt.stop.aborted, interrupt.kill.aborted]).toEqual([true, false])
  send("SIGINT")
  expect([interrupt.kill.aborted, interrupt.first()]).toEqual([true, "SIGTERM"])
})

test("a fault stops without a signal, and a signal after it is the first one", () => {
  const { listen, send } = signals()
  const interrupt = createInterrupt(listen)
  interrupt.fault()
  expect([interrupt.stop.aborted, interrupt.kill.aborted, interrupt.first()]).toEqual([
    true,
    false,
    undefined,
  ])
  send("SIGINT")
  expect([interrupt.kill.aborted, interrupt.first()]).toEqual([false, "SIGINT"])
})

test("a closed one hears nothing any more", () => {
  const { listen, send, count } = signals()
  const interrupt = createInterrupt(listen)
  interrupt.close()
  send("SIGINT")
  expect([interrupt.stop.aborted, count()]).toEqual([false, 0])
})

test("the exit code says which signal it was", () => {
  expect((["SIGHUP", "SIGINT", "SIGTERM"] as const).map(interruptedExitCode)).toEqual([129, 130, 143])
})

test("the end of what started the command stops it as SIGTERM does, and is never the second signal", () => {
  const { listen, send } = signals()
  let gone = (): void => undefined
  const interrupt = createInterrupt(listen, (listener) => {
    gone = listener
    return () => undefined
  })
  gone()
  expect([interrupt.stop.aborted, interrupt.kill.aborted, interrupt.first()]).toEqual([
    true,
    false,
    "SIGTERM",
  ])
  send("SIGINT")
  expect([interrupt.kill.aborted, interrupt.first()]).toEqual([false, "SIGINT"])
  gone()
  expect(interrupt.kill.aborted).toBe(false)
})

test("a parent and the ancestors of one job count as starters, other jobs and the first process do not", () => {
  const shell = { 10: { parent: 1, group: 10 }, 20: { parent: 10, group: 20 } }
  const tree: Readonly<Record<number, Relation>> = {
    ...shell,
    30: { parent: 20, group: 20 },
    40: { parent: 30, group: 20 },
    50: { parent: 10, group: 50 },
    60: { parent: 1, group: 60 },
  }
  const starters = (pid: number) => startersOf(pid, (one) => tree[one])
  expect(starters(40)).toEqual([30, 20])
  expect(starters(50)).toEqual([10])
  expect(starters(60)).toEqual([])
})

test("the death of any starter is seen", () => {
  const tree = new Map<number, Relation>([
    [40, { parent: 30, group: 20 }],
    [30, { parent: 20, group: 20 }],
    [20, { parent: 10, group: 20 }],
  ])
  let look = (): void => undefined
  const every = (_: number, run: () => void) => {
    look = run
    return () => {
      look = () => undefined
    }
  }
  let gone = 0
  watchStarter(40, { every }, (pid) => tree.get(pid))(() => {
    gone += 1
  })
  look()
  expect(gone).toBe(0)
  tree.delete(20)
  tree.set(30, { parent: 1, group: 20 })
  look()
  look()
  expect(gone).toBe(1)
})
