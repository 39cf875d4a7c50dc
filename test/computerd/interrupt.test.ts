import { expect, test } from "bun:test"
import { createInterrupt, interruptedExitCode, type StopSignal } from "@computerd/computerd/interrupt"

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
