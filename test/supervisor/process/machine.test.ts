import { expect, test } from "bun:test"
import { idSource } from "@computerd/protocol/ids"
import {
  initialState,
  type ProcessEvent,
  type ProcessState,
  runningTurn,
  transition,
} from "@computerd/supervisor/process/machine"
import fc from "fast-check"

const newId = idSource(() => Bun.randomUUIDv7())
const [one, other] = [newId("trn"), newId("trn")]

const play = (...events: ProcessEvent[]): ProcessState =>
  events.reduce<ProcessState>((state, event) => transition(state, event) ?? state, initialState)

const ready: ProcessEvent = { kind: "ready" }
const given: ProcessEvent = { kind: "turn_given", turnId: one }
const died: ProcessEvent = { kind: "died", reason: { kind: "signal", signal: "SIGKILL" } }

test("a process that is killed while idle has lost no Turn, but was not meant to end", () => {
  expect(play(ready, died)).toEqual({
    kind: "exited",
    reason: { kind: "signal", signal: "SIGKILL" },
    expected: false,
  })
})

test("a process that dies during a Turn names that Turn", () => {
  expect(play(ready, given, died)).toMatchObject({ kind: "exited", turnId: one, expected: false })
})

test("a Turn that settles while the process stops is not lost", () => {
  const end = play(
    ready,
    given,
    { kind: "stop", cause: { kind: "shutdown" } },
    { kind: "turn_ended", turnId: one },
    died,
  )
  expect(end).toEqual({ kind: "exited", reason: { kind: "shutdown" }, expected: true })
})

test("an end on purpose that cost a Turn is not called expected", () => {
  expect(play(ready, given, { kind: "stop", cause: { kind: "shutdown" } }, died)).toEqual({
    kind: "exited",
    reason: { kind: "shutdown" },
    turnId: one,
    expected: false,
  })
})

test("PM2 the first cause of a stop stands, whatever the kernel says afterwards", () => {
  expect(
    play({ kind: "start_expired", afterMs: 7 }, { kind: "stop", cause: { kind: "shutdown" } }, died),
  ).toMatchObject({ reason: { kind: "start_timeout", afterMs: 7 }, expected: false })
})

test("a failure of init is the reason, not the exit code that follows it", () => {
  expect(
    play(
      { kind: "failed", phase: "init", message: "threw" },
      { kind: "died", reason: { kind: "code", code: 1 } },
    ),
  ).toMatchObject({ reason: { kind: "init_failed", message: "threw" } })
})

test("a limit that was set for an earlier Turn does not end the next one", () => {
  const state = play(ready, given, { kind: "turn_ended", turnId: one }, { kind: "turn_given", turnId: other })
  expect(transition(state, { kind: "cancel_expired", turnId: one, afterMs: 1 })).toBeUndefined()
  expect(transition(state, { kind: "cancel_expired", turnId: other, afterMs: 1 })).toMatchObject({
    kind: "stopping",
    cause: { kind: "stop_timeout", afterMs: 1 },
    turnId: other,
  })
})

const turnId = fc.constantFrom(one, other)
const event: fc.Arbitrary<ProcessEvent> = fc.oneof(
  fc.constant(ready),
  fc.record({
    kind: fc.constant("failed" as const),
    phase: fc.constantFrom("load" as const, "init" as const),
    message: fc.string(),
  }),
  fc.record({ kind: fc.constant("start_expired" as const), afterMs: fc.nat() }),
  fc.record({ kind: fc.constant("turn_given" as const), turnId }),
  fc.record({ kind: fc.constant("turn_ended" as const), turnId }),
  fc.record({ kind: fc.constant("cancel_expired" as const), turnId, afterMs: fc.nat() }),
  fc.record({ kind: fc.constant("stop" as const), cause: fc.constant({ kind: "shutdown" as const }) }),
  fc.constant(died),
)

test("PM1 whatever happens in whatever order: one Turn at a time, only after ready, and an exit is final", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 30 }), (events) => {
      let state: ProcessState = initialState
      let wasReady = false
      for (const next of events) {
        const before = state
        state = transition(before, next) ?? before
        wasReady ||= state.kind === "ready"
        if (before.kind === "exited") expect(state).toBe(before)
        if (before.kind === "stopping") expect(["stopping", "exited"]).toContain(state.kind)
        if (state.kind === "running") expect(wasReady).toBe(true)
        const [was, is] = [runningTurn(before), runningTurn(state)]
        if (was !== undefined && is !== undefined) expect(is).toBe(was)
        if (was === undefined && is !== undefined) expect(before.kind).toBe("ready")
      }
    }),
  )
})
