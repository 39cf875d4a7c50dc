import { expect, test } from "bun:test"
import { dispatch } from "@computerd/control-plane/rules/dispatch"
import { Draft } from "@computerd/control-plane/rules/draft"
import type { Computer, Hold, Session, Turn } from "@computerd/control-plane/rules/entities"
import { child, computer, hold, session, stateOf, turn } from "./facts.ts"

interface Case {
  readonly what: string
  readonly session?: Partial<Session>
  readonly computer?: Partial<Computer>
  readonly turns?: readonly Partial<Turn>[]
  readonly hold?: Partial<Hold>
  readonly dispatched: readonly number[]
}

const cases: readonly Case[] = [
  { what: "the first queued Turn of an open Session", turns: [{}, {}], dispatched: [1] },
  { what: "nothing without a Turn", turns: [], dispatched: [] },
  { what: "nothing beside a running Turn", turns: [{ status: "running" }, {}], dispatched: [] },
  { what: "nothing that was dispatched before", turns: [{ dispatched: true }, {}], dispatched: [] },
  {
    what: "what a closing Session still has to drain",
    session: { status: "closing", closing: "close" },
    dispatched: [1],
  },
  {
    what: "nothing of a cancelled Session",
    session: { status: "closing", closing: "cancel" },
    dispatched: [],
  },
  { what: "nothing of a closed Session", session: { status: "closed" }, dispatched: [] },
  { what: "nothing under an interrupt", hold: {}, dispatched: [] },
  { what: "nothing under a recovery hold", hold: { kind: "recovery" }, dispatched: [] },
  { what: "nothing under storage pressure", hold: { kind: "storage_pressure" }, dispatched: [] },
  { what: "what a released hold held", hold: { releasedAt: 1 }, dispatched: [1] },
  { what: "nothing without a supervisor", computer: { attached: false }, dispatched: [] },
  { what: "nothing to a Computer that starts", computer: { residency: "starting" }, dispatched: [] },
  { what: "nothing to a parked Computer", computer: { residency: "parked" }, dispatched: [] },
  { what: "nothing to one that is to be parked", computer: { desired: "parked" }, dispatched: [] },
  { what: "nothing to one that waits for room", computer: { desired: "idle" }, dispatched: [] },
  { what: "nothing to one that is being deleted", computer: { status: "deleting" }, dispatched: [] },
]

for (const one of cases) {
  test(`R244 dispatch sends ${one.what}`, () => {
    const owner = session(1, one.session)
    const turns = (one.turns ?? [{}]).map((changes, index) => turn(index + 1, owner, changes))
    const draft = new Draft(
      stateOf({
        sessions: [owner],
        turns,
        computers: [computer(1, one.computer)],
        holds: one.hold === undefined ? [] : [hold(1, owner, one.hold)],
      }),
    )
    dispatch(draft, owner)
    const { commands, turns: written } = draft.changes()
    const expected = one.dispatched.map((number) => turns[number - 1]?.id)
    expect(commands.map(({ body }) => (body.type === "dispatch" ? body.turn.id : body.type))).toEqual(
      expected as never,
    )
    expect(written.map(({ row }) => [row.id, row.dispatched])).toEqual(
      expected.map((id) => [id, true]) as never,
    )
  })
}

test("R129 dispatch sends nothing of a child whose grandparent is interrupted", () => {
  const top = session(1)
  const middle = child(2, top)
  const bottom = child(3, middle)
  const draft = new Draft(
    stateOf({
      sessions: [top, middle, bottom],
      turns: [turn(1, bottom)],
      computers: [computer(3)],
      holds: [hold(1, top)],
    }),
  )
  dispatch(draft, bottom)
  expect(draft.changes().commands).toEqual([])
})

test("dispatch of a child is not stopped by a recovery hold of its parent", () => {
  const top = session(1)
  const bottom = child(2, top)
  const draft = new Draft(
    stateOf({
      sessions: [top, bottom],
      turns: [turn(1, bottom)],
      computers: [computer(2)],
      holds: [hold(1, top, { kind: "recovery" })],
    }),
  )
  dispatch(draft, bottom)
  expect(draft.changes().commands.length).toBe(1)
})
