import { expect, test } from "bun:test"
import { sessionFrame } from "@computerd/computerd/fleet/follow/frame"
import { eventText } from "@computerd/computerd/fleet/follow/line"
import { noPast, readPast } from "@computerd/computerd/fleet/follow/past"
import { createPicture } from "@computerd/computerd/fleet/follow/picture"
import { emptyTree, type Tree, treeAfter } from "@computerd/computerd/fleet/follow/tree"
import type { EventBody, EventPage, ListEventsOptions, SessionEvent } from "@helmr/sdk"

const startedAtMs = Date.parse("2026-01-01T00:00:00.000Z")
const id = (kind: string, n: number): string =>
  `${kind}_00000000-0000-7000-8000-${String(n).padStart(12, "0")}`
const [root, child] = [id("ses", 1), id("ses", 2)]

let sequence = 0
const event = (sessionId: string, body: EventBody, atMs = 0): SessionEvent => {
  sequence += 1
  const at = new Date(startedAtMs + atMs).toISOString()
  return { cursor: `c${sequence}`, sequence, sessionId, at, ...body }
}
const created = (agent: string, parentSessionId: string | null): EventBody => ({
  type: "session_created",
  agent,
  deploymentId: id("dep", 1),
  computerId: id("cmp", 1),
  parentSessionId,
  requesterSessionId: null,
})
const queued = (n: number): EventBody => ({
  type: "turn_queued",
  turnId: id("trn", n),
  turnSequence: n,
  source: { kind: "client" },
})
const settled = (n: number, status: "completed" | "failed", errorCode: string | null = null): EventBody => ({
  type: "turn_settled",
  turnId: id("trn", n),
  status,
  errorCode,
})

const story = (): readonly SessionEvent[] => [
  event(root, created("lead", null)),
  event(root, queued(1)),
  event(root, { type: "process_starting", generation: 1 }, 100),
  event(root, { type: "process_ready", generation: 1 }, 200),
  event(root, { type: "turn_started", turnId: id("trn", 1) }, 300),
  event(child, created("hand", root), 400),
  event(child, queued(2), 400),
  event(child, { type: "turn_started", turnId: id("trn", 2) }, 500),
  event(child, settled(2, "failed", "handler_failed"), 1_500),
  event(root, { type: "hold_placed", holdId: id("hld", 1), kind: "interrupt", reason: null }, 2_000),
  event(root, { type: "question_asked", turnId: id("trn", 1), questionId: id("qst", 1) }, 2_100),
]

const treeOf = (events: readonly SessionEvent[]): Tree => events.reduce(treeAfter, emptyTree)
const screen = { columns: 100, rows: 20 }
const frame = (tree: Tree, rows = 20) =>
  sessionFrame({
    tree,
    nowMs: startedAtMs + 3_300,
    startedAtMs,
    screen: { ...screen, rows },
    interrupted: false,
  })

test("a tree is drawn with each Session below its owner, and its Turns with what they are", () => {
  expect(frame(treeOf(story()))).toEqual([
    "2 Sessions · 1 Turn running · 3.3s",
    "● Session ses_…00000001 lead: process ready, held (interrupt), 1 open question",
    "  ● Turn 1: running 3.0s",
    "  ✗ Session ses_…00000002 hand: no process",
    "    ✗ Turn 2: failed 1.0s (handler_failed)",
  ])
})

test("releases, answers and ends leave nothing of what they end", () => {
  const end = [
    event(root, { type: "hold_released", holdId: id("hld", 1), kind: "interrupt" }),
    event(root, { type: "question_answered", turnId: id("trn", 1), questionId: id("qst", 1) }),
    event(root, settled(1, "completed"), 3_000),
    event(root, { type: "session_closing", mode: "close" }),
    event(root, { type: "process_exited", generation: 1, reason: "shutdown" }),
    event(root, { type: "session_closed" }),
  ]
  expect(frame(treeOf([...story(), ...end]))[1]).toBe("✓ Session ses_…00000001 lead: closed")
})

test("what does not fit shrinks to a line for each Session, then to the newest ones and a count", () => {
  expect(frame(treeOf(story()), 4)).toEqual(
    [
      "2 Sessions · 1 Turn running · 3.3s",
      "● Session ses_…00000001 lead: process ready, held (interrupt), 1 open question · Turn 1: running 3.0s",
      "  ✗ Session ses_…00000002 hand: no process · Turn 2: failed 1.0s (handler_failed)",
    ].map((line) => (line.length > 99 ? `${line.slice(0, 98)}…` : line)),
  )
  const many = Array.from({ length: 30 }, (_, n) => event(id("ses", n + 10), created("hand", root)))
  const lines = frame(treeOf([...story(), ...many]), 8)
  expect(lines).toHaveLength(7)
  expect(lines[1]).toBe("  and 27 Sessions before")
  expect(lines.at(-1)).toContain("00000039 hand")
})

test("a Session that is given work without end keeps its newest fifty Turns", () => {
  const events = Array.from({ length: 60 }, (_, n) => event(root, queued(n + 1)))
  const turns = treeOf([event(root, created("lead", null)), ...events]).get(root)!.turns
  expect(turns).toHaveLength(50)
  expect(turns.at(-1)!.sequence).toBe(60)
})

test("every event is one line with whole ids, and nothing in it can steer a terminal", () => {
  const line = eventText(
    event(root, { type: "process_exited", generation: 2, reason: "killed\u001b[2J\nby" }, 1_000),
  )
  expect(line).toBe(`2026-01-01T00:00:01.000Z Session ${root}: process 2 ended (killed [2J by)`)
  expect(eventText(event(root, { type: "turn_output", turnId: id("trn", 1), text: "x" }))).toBeUndefined()
  for (const one of story()) expect(eventText(one)).toContain(one.sessionId)
})

test("output is shown in lines under its Agent's name, with the time of the event", () => {
  const picture = createPicture(emptyTree, { now: () => startedAtMs })
  const said: string[] = []
  const view = {
    output: (source: string, line: string, atMs?: number) =>
      said.push(`${atMs! - startedAtMs} ${source}: ${line}`),
  }
  const lines: string[] = []
  const forget = picture.subject.onLine((line) => lines.push(line), startedAtMs)
  const turnId = id("trn", 1)
  picture.add(event(root, created("lead", null)), view)
  picture.add(event(root, { type: "turn_output", turnId, text: "one\ntw" }, 10), view)
  picture.add(event(root, { type: "turn_output", turnId, text: "o\nrest" }, 20), view)
  picture.add(event(root, settled(1, "completed"), 30), view)
  expect(said).toEqual(["10 lead: one", "20 lead: two", "30 lead: rest"])
  expect(lines).toHaveLength(2)
  forget()
  picture.add(event(root, { type: "session_closed" }), view)
  expect(lines).toHaveLength(2)
})

/** A Session whose events come in pages of four. */
const sessionOf = (events: readonly SessionEvent[]) => {
  const list = async ({ after, tree }: ListEventsOptions = {}): Promise<EventPage> => {
    expect(tree).toBe(true)
    const from = after === undefined ? 0 : events.findIndex(({ cursor }) => cursor === after) + 1
    const page = events.slice(from, from + 4)
    const nextCursor = page.at(-1)?.cursor ?? after
    return { events: page, nextCursor, more: from + 4 < events.length }
  }
  return { events: { list } }
}

test("what was before is known up to a cursor, or to where a Turn was queued, and not beyond", async () => {
  const events = story()
  const session = sessionOf(events)
  const pastOf = (count: number) => ({
    tree: treeOf(events.slice(0, count)),
    after: events[count - 1]?.cursor,
  })
  const before = (turnId: string) => readPast(session, { kind: "turn", turnId })
  expect(await before(id("trn", 1))).toEqual(pastOf(1))
  expect(await before(id("trn", 2))).toEqual(pastOf(6))
  expect(await before(id("trn", 3))).toEqual(pastOf(events.length))
  expect(await readPast(session, { kind: "event", cursor: events[5]!.cursor })).toEqual(pastOf(6))
  const elsewhere = { kind: "event", cursor: "elsewhere" } as const
  expect((await readPast(session, elsewhere)).after).toBe("elsewhere")
  expect(await readPast(sessionOf([]), { kind: "turn", turnId: "t" })).toEqual(noPast)
  // The first event of a page: the place is the end of the page before.
  const fifth = [...events.slice(0, 4), event(root, queued(9)), ...events.slice(4)]
  const paged = await readPast(sessionOf(fifth), { kind: "turn", turnId: id("trn", 9) })
  expect(paged.after).toBe(fifth[3]!.cursor)
})
