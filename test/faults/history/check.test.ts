/** The checker finds what it is there to find: each rule catches the violations that are planted, and nothing else. */
import { expect, test } from "bun:test"
import { check, type RuleName, ruleNames } from "./check.ts"
import type { Entry, FinalState, Hold, Outcome, Turn } from "./record.ts"

const turn = (changes: Partial<Turn> = {}): Turn => ({
  id: "turn-1",
  session: "child",
  status: "completed",
  createdAt: 10,
  startedAt: 20,
  settledAt: 30,
  caller: "owner",
  key: "k1",
  token: "token-1",
  ...changes,
})

const hold = (changes: Partial<Hold> = {}): Hold => ({
  id: "hold-1",
  session: "child",
  kind: "interrupt",
  placedBy: "owner",
  createdAt: 100,
  releasedAt: 200,
  ...changes,
})

const receipt = { sessionId: "child", turnId: "turn-1", sequence: 1 }

const asked = (call: string, changes: Partial<Extract<Entry, { kind: "asked" }>> = {}): Entry => ({
  kind: "asked",
  call,
  caller: "owner",
  tool: "spawn",
  key: "k1",
  arguments: {},
  ...changes,
})
const outcome = (call: string, given: Outcome): Entry => ({ kind: "outcome", call, outcome: given })
const answered = (call: string, value: Extract<Outcome, { kind: "answered" }>["value"]): Entry =>
  outcome(call, { kind: "answered", value })
const refused = (call: string): Entry => outcome(call, { kind: "refused", code: "invalid_arguments" })
const initialised = (instance: string): Entry => ({
  kind: "initialised",
  computer: "computer",
  session: "child",
  instance,
  pid: 1,
  url: "http://127.0.0.1:1/mcp",
  authorization: "Bearer x",
})
const run = (kind: "began" | "ended", changes: object = {}): Entry => ({
  kind,
  session: "child",
  turn: "turn-1",
  instance: "one",
  token: "token-1",
  ...changes,
})
const probed = (status: number | null): Entry => ({
  kind: "probed",
  session: "child",
  instance: "one",
  key: "dead",
  status,
})
const healed: Entry = { kind: "healed", afterMs: 5, left: [] }
const waited = (call: string, status: string): readonly Entry[] => [
  asked(call, { tool: "wait_turn", key: null, arguments: { turnId: "turn-1" } }),
  answered(call, { status: "settled", outcome: { status } }),
]

/** All is well: one child, asked for twice under one key, that ran one Turn. */
const history: readonly Entry[] = [
  asked("1"),
  outcome("1", { kind: "unknown", why: "the connection broke" }),
  asked("2"),
  answered("2", receipt),
  initialised("one"),
  run("began"),
  run("ended"),
  ...waited("3", "completed"),
  probed(401),
  probed(null),
  healed,
]
const state: FinalState = {
  receipts: [{ caller: "owner", key: "k1", tool: "spawn", answer: receipt }],
  sessions: [
    { id: "owner", parent: null, status: "open" },
    { id: "child", parent: "owner", status: "open" },
  ],
  turns: [turn()],
  holds: [],
}

const broken = (entries: readonly Entry[], changes: Partial<FinalState> = {}): readonly RuleName[] =>
  check(entries, { ...state, ...changes }).flatMap(({ rule, violations }) =>
    violations.length > 0 ? [rule] : [],
  )

test("a history in which all is well breaks no rule", () => {
  expect(broken(history)).toEqual([])
  const later = hold({ createdAt: 5, releasedAt: 15 })
  expect(broken(history, { holds: [hold({ placedBy: null }), { ...later, kind: "recovery" }] })).toEqual([])
  const refusedAtFirst = [asked("0"), refused("0"), ...history]
  expect(broken(refusedAtFirst)).toEqual([])
})

const without = (kind: Entry["kind"]): readonly Entry[] => history.filter((entry) => entry.kind !== kind)

const planted: Readonly<
  Record<RuleName, readonly (readonly [string, readonly Entry[], Partial<FinalState>?])[]>
> = {
  "an admitted key without its one receipt": [
    ["no receipt", history, { receipts: [] }],
    [
      "another answer in the receipt",
      history,
      { receipts: [{ caller: "owner", key: "k1", tool: "spawn", answer: { ...receipt, sequence: 2 } }] },
    ],
    [
      "a receipt that nobody asked for",
      history,
      { receipts: [...state.receipts, { caller: "owner", key: "k2", tool: "spawn", answer: {} }] },
    ],
    [
      "a receipt of a refusal",
      [...history, asked("9", { tool: "close_session", key: "k9" }), refused("9")],
      { receipts: [...state.receipts, { caller: "owner", key: "k9", tool: "close_session", answer: {} }] },
    ],
  ],
  "an admitted key without its one effect": [
    [
      "two Turns of one key",
      history,
      { turns: [turn(), turn({ id: "turn-2", token: null, status: "failed" })] },
    ],
    ["another Turn than the answer names", history, { turns: [turn({ key: "k2" })] }],
    [
      "an interrupt without its hold",
      [...history, asked("9", { tool: "interrupt_session", key: "k9" }), answered("9", { holdId: "hold-9" })],
      {
        receipts: [
          ...state.receipts,
          { caller: "owner", key: "k9", tool: "interrupt_session", answer: { holdId: "hold-9" } },
        ],
      },
    ],
    ["a hold without its interrupt", history, { holds: [hold()] }],
    [
      "a refused call that made a Turn",
      [...history, asked("9", { tool: "enqueue", key: "k9" }), refused("9")],
      {
        turns: [turn(), turn({ id: "turn-9", key: "k9", status: "cancelled", startedAt: null, token: null })],
      },
    ],
  ],
  "a retry with another answer": [
    ["two answers", [...history, asked("4"), answered("4", { ...receipt, turnId: "turn-2" })]],
    ["admitted, then refused", [...history, asked("4"), refused("4")]],
  ],
  "a Turn that did not settle once": [
    ["two ends", [...history, ...waited("5", "interrupted")]],
    ["the result of no run", history, { turns: [turn({ token: "token-2" })] }],
  ],
  "a Turn that ran twice": [["began again", [...history, run("began")]]],
  "a Turn that ran under a hold": [
    ["its own hold", history, { holds: [hold({ createdAt: 5, releasedAt: 25, kind: "recovery" })] }],
    [
      "one that was never released",
      history,
      { holds: [hold({ createdAt: 5, releasedAt: null, kind: "recovery" })] },
    ],
    [
      "an inherited hold",
      history,
      { holds: [hold({ session: "owner", createdAt: 5, releasedAt: 25, placedBy: null })] },
    ],
  ],
  "a Turn in a process of a stale generation": [
    ["a later process was there", [initialised("one"), initialised("two"), ...without("initialised")]],
    ["a process that never initialised", without("initialised")],
  ],
  "a dead token that was accepted": [
    ["it was served", [...history, probed(200)]],
    ["it was not unknown", [...history, probed(503)]],
  ],
  "something unsettled after healing": [
    [
      "a Turn",
      [...without("outcome"), ...without("asked")].slice(-1),
      { turns: [turn({ status: "running" })], receipts: [] },
    ],
    ["whatever healing found", [...without("healed"), { ...healed, left: ["a call without an answer"] }]],
    ["it never healed", without("healed")],
    ["a Turn that ran and is gone", [...without("began"), run("began", { turn: "turn-7" })]],
  ],
}

for (const rule of ruleNames)
  for (const [name, entries, changes] of planted[rule])
    test(`the checker finds ${rule}: ${name}`, () => {
      expect(broken(entries, changes)).toContain(rule)
    })
