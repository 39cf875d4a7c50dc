import { expect, test } from "bun:test"
import { isWaitBlocked, takesRoom } from "@computerd/control-plane/rules/capacity"
import { Draft } from "@computerd/control-plane/rules/draft"
import type { Computer, Hold, Session, Turn } from "@computerd/control-plane/rules/entities"
import { progress } from "@computerd/control-plane/rules/progress"
import { computer, given, hold, session, stateOf, turn } from "./facts.ts"

const desired = (rows: {
  readonly sessions: readonly Session[]
  readonly turns: readonly Turn[]
  readonly computers: readonly Computer[]
  readonly limit: number | null
}): readonly string[] => {
  const draft = new Draft(stateOf(rows))
  for (const one of rows.computers) draft.touchComputer(one.id)
  progress(draft, given({ runningComputersMax: rows.limit }))
  return rows.computers.map((one) => draft.computer(one.id)?.desired ?? "")
}

const cold = { residency: "cold", desired: "idle", attached: false } as const

test("without a limit every available Computer is to run", () => {
  const sessions = [session(1), session(2)]
  expect(
    desired({ sessions, turns: [], computers: [computer(1, cold), computer(2, cold)], limit: null }),
  ).toEqual(["running", "running"])
})

test("with a limit a Computer runs when it has work and there is room; who has waited longest comes first", () => {
  const sessions = [session(1), session(2), session(3), session(4)]
  const turns = [turn(1, sessions[0]!), turn(2, sessions[1]!), turn(3, sessions[2]!)]
  const computers = [
    computer(1, { ...cold, wantedSince: 30 }),
    computer(2, { ...cold, wantedSince: 10 }),
    computer(3, { ...cold, wantedSince: 20 }),
    computer(4, cold),
  ]
  expect(desired({ sessions, turns, computers, limit: 2 })).toEqual(["idle", "running", "running", "idle"])
})

test("a Computer with nothing to do is parked when another waits for its room, the idlest first, and no other", () => {
  const sessions = [session(1), session(2), session(3), session(4)]
  const turns = [turn(1, sessions[0]!, { status: "running" }), turn(4, sessions[3]!)]
  const computers = [
    computer(1),
    computer(2, { parkableSince: 20 }),
    computer(3, { parkableSince: 10 }),
    computer(4, cold),
  ]
  expect(desired({ sessions, turns, computers, limit: 3 })).toEqual(["running", "running", "parked", "idle"])
})

test("nothing is parked while nobody waits, and what is parked already gives its room to the next", () => {
  const sessions = [session(1), session(2)]
  const idle = computer(1, { parkableSince: 5 })
  expect(desired({ sessions, turns: [], computers: [idle, computer(2, cold)], limit: 1 })).toEqual([
    "running",
    "idle",
  ])
  const parked = computer(1, { residency: "parked", desired: "parked" })
  const turns = [turn(2, sessions[1]!)]
  expect(desired({ sessions, turns, computers: [parked, computer(2, cold)], limit: 1 })).toEqual([
    "parked",
    "running",
  ])
})

test("a Computer that cannot be made gives its place to one that waits", () => {
  const sessions = [session(1), session(2)]
  const turns = [turn(1, sessions[0]!), turn(2, sessions[1]!)]
  const broken = computer(1, { residency: "unavailable", attached: false })
  expect(desired({ sessions, turns, computers: [broken, computer(2, cold)], limit: 1 })).toEqual([
    "idle",
    "running",
  ])
  expect(desired({ sessions, turns, computers: [broken, computer(2, cold)], limit: 2 })).toEqual([
    "running",
    "running",
  ])
})

const rooms: readonly (readonly [Partial<Computer>, boolean])[] = [
  [{ residency: "running" }, true],
  [{ residency: "starting", desired: "idle" }, true],
  [{ residency: "parking", desired: "parked" }, true],
  [{ residency: "restoring" }, true],
  [{ residency: "cold", desired: "running" }, true],
  [{ residency: "cold", desired: "idle" }, false],
  [{ residency: "parked", desired: "parked" }, false],
  [{ residency: "parked", desired: "running" }, true],
  [{ residency: "unavailable", desired: "running" }, false],
  [{ status: "deleting", desired: "deleted", residency: "running" }, true],
  [{ status: "deleted", desired: "deleted", residency: "cold" }, false],
]

for (const [changes, takes] of rooms) {
  test(`${JSON.stringify(changes)} ${takes ? "takes" : "takes no"} room`, () => {
    expect(takesRoom(computer(1, changes))).toBe(takes)
  })
}

const waits: readonly {
  readonly what: string
  readonly limit: number | null
  readonly turn?: Partial<Turn>
  readonly target?: Partial<Computer>
  readonly hold?: Partial<Hold>
  readonly shared?: boolean
  readonly blocked: boolean
}[] = [
  { what: "queued elsewhere with room for one", limit: 1, blocked: true },
  { what: "queued elsewhere with room for two", limit: 2, blocked: false },
  { what: "queued elsewhere without a limit", limit: null, blocked: false },
  { what: "running elsewhere", limit: 1, turn: { status: "running" }, target: {}, blocked: false },
  { what: "sent to its Computer", limit: 1, turn: { dispatched: true }, blocked: false },
  {
    what: "queued on a Computer that has room",
    limit: 1,
    target: { residency: "running", desired: "running" },
    blocked: false,
  },
  { what: "held", limit: 1, hold: {}, blocked: false },
  { what: "on the caller's own Computer", limit: 1, shared: true, blocked: false },
]

for (const one of waits) {
  test(`R160 R166 a wait for a Turn that is ${one.what} is ${one.blocked ? "" : "not "}blocked`, () => {
    const caller = session(1)
    const target = session(2, one.shared ? { computerId: caller.computerId } : {})
    const awaited = turn(1, target, one.turn)
    const state = stateOf({
      sessions: [caller, target],
      turns: [awaited],
      computers: [computer(1), computer(2, one.target ?? cold)],
      holds: one.hold === undefined ? [] : [hold(1, target, one.hold)],
    })
    const wait = { caller, session: target, turn: awaited }
    expect(isWaitBlocked(new Draft(state), wait, given({ runningComputersMax: one.limit }))).toBe(one.blocked)
  })
}
