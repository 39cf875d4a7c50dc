import { afterAll, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Generation } from "@computerd/protocol/ids"
import { unacknowledgedFramesMax } from "@computerd/protocol/limits"
import type { LinkEvent } from "@computerd/protocol/link"
import { createJournal, type JournalEntry } from "@computerd/supervisor/journal"
import {
  createOutbox,
  outputEventsMax,
  outputMaxBytes,
  setAsideKept,
} from "@computerd/supervisor/link/outbox"
import { createPump } from "@computerd/supervisor/link/pump"
import { openStore, type Store } from "@computerd/supervisor/store/open"
import { outboxTable } from "@computerd/supervisor/store/outbox"
import fc from "fast-check"
import { ports } from "./station.ts"

const directories: string[] = []
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})

const sessionId = ports.newId("ses")
const turnId = ports.newId("trn")
const generation = Generation.parse(1)
const starting: LinkEvent = { type: "process_starting", sessionId, generation }
const output = (text: string): LinkEvent => ({ type: "turn_output", sessionId, generation, turnId, text })
const settled: LinkEvent = {
  type: "turn_settled",
  sessionId,
  generation,
  turnId,
  outcome: { status: "completed", result: null },
}

const started: LinkEvent = { type: "turn_started", sessionId, generation, turnId }
const exited: LinkEvent = {
  type: "process_exited",
  sessionId,
  generation,
  turnId,
  reason: { kind: "signal", signal: "SIGKILL" },
  expected: false,
}
const question = (text: string): LinkEvent => ({
  type: "question",
  sessionId,
  generation,
  turnId,
  requestId: ports.newId("req"),
  question: [{ type: "text", text }],
})

const open = (directory = mkdtempSync(join(tmpdir(), "computerd-outbox-"))) => {
  directories.push(directory)
  const entries: JournalEntry[] = []
  const journal = createJournal(ports.clock, [(entry) => entries.push(entry)])
  const opened = openStore({ directory, ports, journal })
  if (!opened.ok) throw new Error(opened.error.message)
  const store = opened.value
  let pushes = 0
  const outbox = createOutbox({
    store,
    clock: ports.clock,
    journal,
    pushed: () => {
      pushes += 1
    },
  })
  const emit = (...events: readonly LinkEvent[]): void => store.transaction(() => events.forEach(outbox.push))
  const texts = (): string[] =>
    outbox.after(0, 100_000).map(({ body }) => {
      const event = JSON.parse(body) as LinkEvent
      return event.type === "turn_output" ? event.text : event.type
    })
  return {
    directory,
    store,
    outbox,
    emit,
    texts,
    entries,
    pushes: () => pushes,
    totals: outboxTable(store.database).totals,
  }
}

test("events survive the supervisor, numbered on from where they were", () => {
  const first = open()
  first.emit(starting, output("a"))
  first.outbox.markSent(1)
  first.outbox.acknowledge(1)
  first.store.close()
  const second = open(first.directory)
  second.emit(settled)
  expect(second.outbox.after(0, 10).map(({ seq }) => seq)).toEqual([2, 3])
  expect(second.outbox.unacknowledged()).toBe(2)
  second.store.close()
})

test("output is refused before lifecycle, and what is missing is said in its place", () => {
  const { store, emit, texts, entries, outbox } = open()
  emit(...Array.from({ length: outputEventsMax }, () => output("x")))
  emit(output("lost"), output("lost too"), settled, starting)
  expect(outbox.unacknowledged()).toBe(outputEventsMax + 3)
  expect(texts().slice(outputEventsMax)).toEqual([
    expect.stringContaining("12 bytes of output were dropped"),
    "turn_settled",
    "process_starting",
  ])
  expect(entries.filter(({ event }) => event === "output_refused").length).toBe(1)
  store.close()
})

test("output that fits again follows the mark of what was dropped", () => {
  const { store, emit, texts, outbox } = open()
  emit(...Array.from({ length: outputEventsMax }, () => output("x")))
  emit(output("lost"))
  outbox.markSent(outputEventsMax)
  outbox.acknowledge(outputEventsMax)
  emit(output("after"))
  expect(texts()).toEqual([expect.stringContaining("4 bytes of output were dropped"), "after"])
  store.close()
})

test("output is bounded by its bytes too, and lifecycle is not", () => {
  const { store, emit, totals, outbox } = open()
  const chunk = "y".repeat(65_536)
  for (let count = 0; count < 600; count += 1) emit(output(chunk))
  expect(totals().outputBytes).toBeLessThanOrEqual(outputMaxBytes)
  const kept = outbox.unacknowledged()
  expect(kept).toBe(outputMaxBytes / 65_536)
  emit(starting)
  expect(outbox.unacknowledged()).toBe(kept + 1)
  store.close()
})

test("a full outbox begins nothing more and still takes every end", () => {
  const { store, emit, outbox } = open()
  emit(...Array.from({ length: unacknowledgedFramesMax }, () => starting))
  for (const event of [
    starting,
    { ...starting, type: "process_ready" },
    started,
    question("why"),
  ] as LinkEvent[])
    expect(() => emit(event)).toThrow("no room")
  emit(output("refused"))
  expect(outbox.unacknowledged()).toBe(unacknowledgedFramesMax)
  emit(settled, exited, { type: "released", sessionId })
  // One more: the mark of the output that was refused.
  expect(outbox.unacknowledged()).toBe(unacknowledgedFramesMax + 4)
  outbox.markSent(10)
  outbox.acknowledge(10)
  emit(starting)
  store.close()
})

test("questions weigh by their bytes", () => {
  const { store, emit } = open()
  const asked = question("?".repeat(250_000))
  expect(() => {
    for (let count = 0; count < 1_000; count += 1) emit(asked)
  }).toThrow("no room for question")
  emit(settled)
  store.close()
})

/** Writes over the stored body of an event, as a damaged page or another version would. */
const spoil = (store: Store, seq: number, body: string): void => {
  store.database.run("UPDATE outbox SET body = ? WHERE seq = ?", [body, seq])
}

const pumped = ({ outbox }: ReturnType<typeof open>) => {
  const frames: { readonly seq: number; readonly body: LinkEvent }[] = []
  const pump = createPump({
    outbox,
    received: 0,
    inbound: () => 0,
    bufferedBytes: () => 0,
    send: (frame) => {
      if (frame.kind === "frame") frames.push({ seq: frame.seq, body: frame.body })
      return true
    },
    reach: () => undefined,
  })
  pump.run()
  return { pump, frames }
}

test("an event that nobody can read is set aside, and those behind it are sent in its place", () => {
  const one = open()
  one.emit(starting, output("unreadable"), output("a"), settled)
  spoil(one.store, 2, '{"type":"turn_outpu')
  const { frames } = pumped(one)
  expect(frames.map(({ seq }) => seq)).toEqual([1, 2, 3])
  expect(frames.map(({ body }) => body.type)).toEqual(["process_starting", "turn_output", "turn_settled"])
  expect(one.outbox.countSetAside()).toBe(1)
  expect(one.entries.filter(({ event }) => event === "event_set_aside").length).toBe(1)
  one.emit(starting)
  expect(one.outbox.after(3, 10).map(({ seq }) => seq)).toEqual([4])
  one.store.close()
})

test("the end of a Turn whose report nobody can read is told all the same", () => {
  const one = open()
  one.emit(starting, settled, exited)
  spoil(one.store, 2, JSON.stringify({ ...settled, outcome: { status: "splendid" } }))
  spoil(one.store, 3, JSON.stringify({ ...exited, reason: { kind: "evaporated" } }))
  const { frames } = pumped(one)
  expect(frames.map(({ seq }) => seq)).toEqual([1, 2, 3])
  expect(frames[1]?.body).toMatchObject({
    type: "turn_settled",
    turnId,
    outcome: { status: "interrupted", error: { code: "process_lost" } },
  })
  expect(frames[2]?.body).toMatchObject({ type: "process_exited", turnId, reason: { kind: "unknown" } })
  one.store.close()
})

test("what was set aside is kept for a while, a bounded number of them", () => {
  const one = open()
  one.emit(...Array.from({ length: setAsideKept + 20 }, () => starting))
  one.store.database.run("UPDATE outbox SET body = 'nothing'")
  expect(pumped(one).frames).toEqual([])
  expect(one.outbox.unacknowledged()).toBe(0)
  expect(one.outbox.countSetAside()).toBe(setAsideKept)
  one.store.close()
})

test("what a run stored and never sent is not taken for what the control plane has from before a power cut", () => {
  const first = open()
  // Three were sent and arrived; the power cut took them back, and the next run stored another under the same number.
  first.store.close()
  const second = open(first.directory)
  second.emit(exited)
  second.store.close()
  const third = open(first.directory)
  third.store.transaction(() => third.outbox.align(3))
  expect(third.outbox.after(0, 10).map(({ seq, body }) => [seq, JSON.parse(body).type])).toEqual([
    [4, "process_exited"],
  ])
  third.store.close()
})

test("an acknowledgement of what was never sent removes nothing", () => {
  const { store, emit, outbox } = open()
  emit(starting, starting)
  outbox.markSent(1)
  outbox.acknowledge(99)
  expect(outbox.after(0, 10).map(({ seq }) => seq)).toEqual([2])
  store.close()
})

test("announces events once their transaction has committed, and never one that was rolled back", () => {
  const { store, emit, outbox, pushes } = open()
  emit(starting, starting)
  expect(pushes()).toBe(2)
  expect(() =>
    store.transaction(() => {
      outbox.push(starting)
      throw new Error("no")
    }),
  ).toThrow("no")
  expect(pushes()).toBe(2)
  store.close()
})

test("whatever the control plane says that it has, what it lacks is numbered on from there, in order", () => {
  const { store, outbox, totals } = open()
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 30 })), { maxLength: 8 }),
      (rounds) => {
        for (const [pushed, received] of rounds) {
          store.transaction(() => {
            for (let count = 0; count < pushed; count += 1) outbox.push(starting)
            outbox.align(received)
          })
          const rows = outbox.after(0, 100_000)
          expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, index) => received + 1 + index))
          expect(totals().lastSeq).toBe(received + rows.length)
          const last = rows.at(-1)
          if (last !== undefined) outbox.markSent(last.seq)
        }
      },
    ),
    { numRuns: 200 },
  )
  store.close()
})
