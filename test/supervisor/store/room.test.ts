/** A store on a disk of two megabytes: a tmpfs, where the tests may mount one. */
import { afterAll, afterEach, expect, test } from "bun:test"
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Generation } from "@computerd/protocol/ids"
import type { LinkEvent } from "@computerd/protocol/link"
import { createAdmissionJournal } from "@computerd/supervisor/admission/journal"
import { createJournal, type JournalEntry } from "@computerd/supervisor/journal"
import { createOutbox } from "@computerd/supervisor/link/outbox"
import type { Ports } from "@computerd/supervisor/ports"
import { openStore, type Store } from "@computerd/supervisor/store/open"
import { fakeClock } from "../../fakes/clock.ts"
import { request, ports as systemPorts } from "../link/station.ts"

const mountPoint = mkdtempSync(join(tmpdir(), "computerd-small-disk-"))
const mounted =
  Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "none", mountPoint], { stderr: "ignore" })
    .exitCode === 0
const onSmallDisk = test.if(mounted)
const ballastBytes = 262_144

let opened: Store[] = []
afterEach(() => {
  for (const store of opened) store.close()
  opened = []
  rmSync(join(mountPoint, "state"), { recursive: true, force: true })
  rmSync(join(mountPoint, "filling"), { force: true })
})
afterAll(() => {
  if (mounted) Bun.spawnSync(["umount", "-l", mountPoint])
  rmSync(mountPoint, { recursive: true, force: true })
})

const fill = (): void => {
  const descriptor = openSync(join(mountPoint, "filling"), "a")
  try {
    for (const size of [65_536, 4_096]) {
      try {
        for (;;) writeSync(descriptor, new Uint8Array(size))
      } catch {
        // Full for pieces of this size.
      }
    }
  } finally {
    closeSync(descriptor)
  }
}
const makeRoom = (): void => rmSync(join(mountPoint, "filling"))

const open = () => {
  const time = fakeClock()
  const ports: Ports = { ...systemPorts, clock: time.clock, timers: time.timers }
  const entries: JournalEntry[] = []
  const journal = createJournal(ports.clock, [(entry) => entries.push(entry)])
  const directory = join(mountPoint, "state")
  mkdirSync(directory, { recursive: true })
  const result = openStore({ directory, ports, journal, ballastBytes })
  if (!result.ok) throw new Error(result.error.message)
  const store = result.value
  opened.push(store)
  const outbox = createOutbox({ store, clock: ports.clock, journal, pushed: () => undefined })
  const admissions = createAdmissionJournal(store, ports.clock)
  const seen = (event: JournalEntry["event"]): number =>
    entries.filter((entry) => entry.event === event).length
  const push = (event: LinkEvent): void => store.transaction(() => outbox.push(event))
  const admit = (): void => admissions.write(systemPorts.newId("req"), request("spawn"), "key")
  return { store, outbox, time, seen, push, admit, entries, ballast: join(directory, "ballast") }
}

const sessionId = systemPorts.newId("ses")
const turnId = systemPorts.newId("trn")
const generation = Generation.parse(1)
const output: LinkEvent = { type: "turn_output", sessionId, generation, turnId, text: "x".repeat(20_000) }
const settled: LinkEvent = {
  type: "turn_settled",
  sessionId,
  generation,
  turnId,
  outcome: { status: "completed", result: "y".repeat(20_000) },
}

/** Writes until the disk takes no more: what was written meanwhile fails, and the ballast is given up. */
const exhaust = ({ push }: ReturnType<typeof open>): void => {
  fill()
  expect(() => {
    for (let count = 0; count < 1_000; count += 1) push(output)
  }).toThrow("full")
}

onSmallDisk("on a full disk the ballast lets ends be written, and nothing new begins", () => {
  const one = open()
  expect(statSync(one.ballast).size).toBe(ballastBytes)
  expect(statSync(one.ballast).mode & 0o777).toBe(0o600)
  exhaust(one)
  expect(one.seen("disk_full")).toBe(1)
  expect(one.store.hasRoom()).toBe(false)
  expect(() => one.admit()).toThrow("the disk is full")
  expect(() => one.push({ type: "process_starting", sessionId, generation })).toThrow("disk is full")
  const before = one.outbox.unacknowledged()
  one.push(output)
  expect(one.outbox.unacknowledged()).toBe(before)
  one.push(settled)
  // With it goes the mark of the output that was refused.
  expect(one.outbox.unacknowledged()).toBe(before + 2)
})

onSmallDisk("a disk that has room again gets its ballast back, and work begins again by itself", () => {
  const one = open()
  exhaust(one)
  one.time.advance(60_000)
  expect(one.store.hasRoom()).toBe(false)
  makeRoom()
  one.time.advance(5_000)
  expect(one.store.hasRoom()).toBe(true)
  expect(one.seen("disk_recovered")).toBe(1)
  expect(statSync(one.ballast).size).toBe(ballastBytes)
  one.admit()
  one.push({ type: "process_starting", sessionId, generation })
})

onSmallDisk("a supervisor starts on a full disk with its store as it was, by giving up the ballast", () => {
  const first = open()
  first.push(settled)
  const { id } = first.store
  first.store.close()
  opened = []
  fill()
  const second = open()
  expect(second.store.id).toBe(id)
  expect(second.outbox.unacknowledged()).toBe(1)
  expect(second.seen("store_set_aside")).toBe(0)
  second.push({ type: "released", sessionId })
})

onSmallDisk("a full disk without ballast refuses the start and leaves the store as it is", () => {
  const first = open()
  const { id } = first.store
  first.store.close()
  opened = []
  rmSync(first.ballast)
  fill()
  expect(open).toThrow("cannot open the store")
  makeRoom()
  const again = open()
  expect(again.store.id).toBe(id)
  expect(again.seen("store_set_aside")).toBe(0)
})

onSmallDisk("the write-ahead log that a burst left is empty after a while", () => {
  const one = open()
  const log = join(mountPoint, "state", "store.sqlite-wal")
  for (let count = 0; count < 20; count += 1) one.push(output)
  expect(statSync(log).size).toBeGreaterThan(400_000)
  one.time.advance(60_000)
  expect(statSync(log).size).toBe(0)
})
