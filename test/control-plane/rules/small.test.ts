/** Rules that are small enough to be told whole: receipts' texts, cursors, room for commands, exits, patched lists. */
import { expect, test } from "bun:test"
import { cursorAfter, cursorPosition } from "@computerd/control-plane/rules/cursors"
import { canonical } from "@computerd/control-plane/rules/receipts"
import { hasCommandRoom } from "@computerd/control-plane/rules/room"
import { Rows } from "@computerd/control-plane/rules/rows"
import { exitText } from "@computerd/protocol/exit"
import { unacknowledgedFramesMax } from "@computerd/protocol/limits"
import fc from "fast-check"
import { computer, given } from "./facts.ts"

const shuffled = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shuffled)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, field]) => [key, shuffled(field)]),
  )
}

test("R171 the order of keys does not change a request's text; any other difference does", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (left, right) => {
      expect(canonical(shuffled(left))).toBe(canonical(left))
      expect(JSON.parse(canonical(left))).toEqual(JSON.parse(JSON.stringify(left)))
      if (!Bun.deepEquals(JSON.parse(JSON.stringify(left)), JSON.parse(JSON.stringify(right))))
        expect(canonical(left)).not.toBe(canonical(right))
    }),
  )
})

test("R171 an absent argument and an undefined one are the same request", () => {
  expect(canonical({ agent: "a", computerId: undefined })).toBe(canonical({ agent: "a" }))
})

test("R155 a cursor gives its position back to its own list and to no other", () => {
  const surroundings = given()
  const list = { caller: "ses_1", tool: "list_sessions", filters: { relation: "owned" } }
  const others = [
    { ...list, caller: "ses_2" },
    { ...list, tool: "list_computers" },
    { ...list, filters: { relation: "requested" } },
  ]
  const cursor = cursorAfter(list, "ses_9", surroundings)
  expect(cursorPosition(list, cursor, surroundings)).toEqual({ ok: true, value: "ses_9" })
  expect(cursorPosition(list, undefined, surroundings)).toEqual({ ok: true, value: null })
  for (const other of others)
    expect(cursorPosition(other, cursor, surroundings)).toMatchObject({
      ok: false,
      error: { field: "cursor" },
    })
  for (const forged of ["", "~", "ses_9", "ses_9~", `ses_8${cursor.slice(5)}`, `${cursor}x`])
    expect(cursorPosition(list, forged, surroundings).ok, forged).toBe(false)
})

test("a Computer takes new commands up to a reserve below the bound, and one without a supervisor takes any", () => {
  const behind = (pending: number, attached = true) =>
    hasCommandRoom(computer(1, { commandSeq: 10 + pending, commandAck: 10, attached })).ok
  const most = unacknowledgedFramesMax - 1_000
  expect([behind(0), behind(most - 1), behind(most), behind(most, false)]).toEqual([true, true, false, true])
})

test("every reason of an exit has words that name it", () => {
  expect(
    [
      { kind: "code", code: 3 } as const,
      { kind: "signal", signal: "SIGKILL" } as const,
      { kind: "out_of_memory" } as const,
      { kind: "start_timeout", afterMs: 5 } as const,
      { kind: "spawn_failed", message: "m" } as const,
      { kind: "load_failed", message: "m" } as const,
      { kind: "init_failed", message: "m" } as const,
      { kind: "stop_timeout", afterMs: 5 } as const,
      { kind: "shutdown" } as const,
      { kind: "unknown", message: "m" } as const,
    ].map(exitText),
  ).toEqual([
    "exit code 3",
    "signal SIGKILL",
    "out of memory",
    "not ready within 5 ms",
    "could not be started: m",
    "program could not be loaded: m",
    "init failed: m",
    "did not stop within 5 ms",
    "shut down",
    "m",
  ])
})

interface Item {
  readonly id: string
  readonly kept: boolean
}

test("a list under a decision is the list of the state with the decision's rows in their place", () => {
  const item = fc.record({ id: fc.nat(20).map((n) => `row-${n}`), kept: fc.boolean() })
  const writes = fc.array(fc.record({ row: item, limit: fc.integer({ min: 1, max: 8 }) }), { maxLength: 12 })
  fc.assert(
    fc.property(
      fc.uniqueArray(item, { selector: (one) => one.id, maxLength: 12 }),
      writes,
      (stored, steps) => {
        const rows = new Rows<Item>()
        const truth = new Map(stored.map((one) => [one.id, one]))
        for (const { row, limit } of steps) {
          if (truth.has(row.id)) {
            rows.get(row.id, (id) => stored.find((one) => one.id === id))
            rows.put(row)
          } else rows.add(row)
          truth.set(row.id, row)
          const listed = rows.list({
            name: "kept",
            load: (count) => stored.filter((one) => one.kept).slice(0, count),
            belongs: (one) => one.kept,
            limit,
          })
          const expected = [...truth.values()].filter((one) => one.kept)
          expect(listed.length).toBe(Math.min(limit, expected.length))
          expect(new Set(listed.map((one) => one.id)).size).toBe(listed.length)
          for (const one of listed) expect(truth.get(one.id)).toEqual(one)
        }
      },
    ),
  )
})
