import { expect, test } from "bun:test"
import { Draft } from "@computerd/control-plane/rules/draft"
import type { Hold, Session } from "@computerd/control-plane/rules/entities"
import { canRelease, effectiveHolds, releasableByOperator } from "@computerd/control-plane/rules/holds"
import { child, hold, session, stateOf } from "./facts.ts"

const owner = session(1)
const kid = child(2, owner)
const grandchild = child(3, kid)
const started = session(4, { requesterId: owner.id })
const stranger = session(5)
const everybody = [owner, kid, grandchild, started, stranger]

const table: readonly {
  readonly what: string
  readonly on: Session
  readonly hold: Partial<Hold>
  readonly releasedBy: readonly Session[]
}[] = [
  { what: "an interrupt by the owner", on: kid, hold: { placedBy: owner.id }, releasedBy: [owner] },
  {
    what: "an interrupt by the owner on a grandchild",
    on: grandchild,
    hold: { placedBy: owner.id },
    releasedBy: [owner],
  },
  {
    what: "an interrupt by the parent on a grandchild",
    on: grandchild,
    hold: { placedBy: kid.id },
    releasedBy: [kid],
  },
  { what: "an interrupt by an operator", on: kid, hold: { placedBy: null }, releasedBy: [] },
  {
    what: "an interrupt that the Session placed on itself somehow",
    on: kid,
    hold: { placedBy: kid.id },
    releasedBy: [],
  },
  {
    what: "an interrupt on a Session that was started",
    on: started,
    hold: { placedBy: owner.id },
    releasedBy: [],
  },
  { what: "a recovery hold", on: grandchild, hold: { kind: "recovery" }, releasedBy: [owner, kid] },
  { what: "a recovery hold on a root", on: owner, hold: { kind: "recovery" }, releasedBy: [] },
  { what: "storage pressure", on: kid, hold: { kind: "storage_pressure" }, releasedBy: [] },
]

for (const one of table) {
  test(`R140 R141 R142 who may release ${one.what}`, () => {
    const placed = hold(1, one.on, one.hold)
    const draft = new Draft(stateOf({ sessions: everybody, holds: [placed] }))
    expect(everybody.filter((caller) => canRelease(draft, caller, placed)).map(({ id }) => id)).toEqual(
      one.releasedBy.map(({ id }) => id),
    )
  })
}

test("R142 an operator releases every kind but storage pressure", () => {
  const kinds = (["interrupt", "recovery", "storage_pressure"] as const).map((kind) =>
    releasableByOperator(hold(1, kid, { kind })),
  )
  expect(kinds).toEqual([true, true, false])
})

test("R139 effective holds are the Session's own and its ancestors' interrupts, nearest first", () => {
  const placed = [
    hold(1, owner),
    hold(2, owner, { kind: "recovery" }),
    hold(3, kid),
    hold(4, kid, { kind: "storage_pressure" }),
    hold(5, grandchild, { kind: "recovery" }),
    hold(6, kid, { releasedAt: 1 }),
    hold(7, stranger),
  ]
  const draft = new Draft(stateOf({ sessions: everybody, holds: placed }))
  expect(effectiveHolds(draft, grandchild).map(({ id }) => id)).toEqual([
    placed[4]!.id,
    placed[2]!.id,
    placed[0]!.id,
  ])
  expect(effectiveHolds(draft, started)).toEqual([])
})
