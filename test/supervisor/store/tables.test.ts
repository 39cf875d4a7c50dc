import { afterEach, beforeEach, expect, test } from "bun:test"
import { rmSync } from "node:fs"
import { Generation, type SessionId } from "@computerd/protocol/ids"
import { unacknowledgedFramesMax } from "@computerd/protocol/limits"
import { createJournal } from "@computerd/supervisor/journal"
import { openStore, type Store } from "@computerd/supervisor/store/open"
import { newAssignment, ports, temporaryDirectory } from "../harness.ts"

let directory: string
let store: Store

beforeEach(() => {
  directory = temporaryDirectory()
  const result = openStore({ directory, ports, journal: createJournal(ports.clock) })
  if (!result.ok) throw new Error(result.error.message)
  store = result.value
})
afterEach(() => {
  store.close()
  rmSync(directory, { recursive: true, force: true })
})

const addSession = (): SessionId => {
  const assignment = newAssignment("echo")
  store.sessions.put({
    sessionId: assignment.sessionId,
    assignment,
    generation: 1,
    wanted: true,
    turn: undefined,
    next: undefined,
    ending: undefined,
    finishedTurn: undefined,
    lastExit: undefined,
    recovery: undefined,
  })
  return assignment.sessionId
}
const addProcess = (sessionId: SessionId, generation = 1): void =>
  store.processes.put({
    sessionId,
    generation: Generation.parse(generation),
    secretHash: "00",
    pid: undefined,
    startTime: undefined,
    bootId: "boot",
    cgroup: undefined,
    startedAtMs: 0,
    received: 0,
    sent: 0,
    phase: "starting" as const,
    stop: undefined,
  })

test("a rollback takes cached rows back with the stored ones", () => {
  const sessionId = addSession()
  addProcess(sessionId)
  const row = store.sessions.get(sessionId)!
  expect(() =>
    store.transaction(() => {
      store.sessions.put({ ...row, generation: 2 })
      store.processes.setReceived(sessionId, 7)
      expect(store.sessions.get(sessionId)?.generation).toBe(2)
      throw new Error("no")
    }),
  ).toThrow("no")
  expect(store.sessions.get(sessionId)?.generation).toBe(1)
  expect(store.processes.get(sessionId)?.received).toBe(0)
})

test("frames are numbered on, kept until acknowledged, and gone with their process", () => {
  const sessionId = addSession()
  addProcess(sessionId)
  expect([1, 2, 3].map((body) => store.processes.pushFrame(sessionId, `${body}`))).toEqual([1, 2, 3])
  store.processes.acknowledge(sessionId, 2)
  expect(store.processes.framesAfter(sessionId, 0)).toEqual([{ seq: 3, body: "3" }])
  expect(store.processes.pushFrame(sessionId, "4")).toBe(4)
  store.processes.remove({ sessionId, generation: Generation.parse(2) })
  expect(store.processes.get(sessionId)).toBeDefined()
  store.processes.remove({ sessionId, generation: Generation.parse(1) })
  expect(store.processes.framesAfter(sessionId, 0)).toEqual([])
})

test("a process of a new generation begins without frames", () => {
  const sessionId = addSession()
  addProcess(sessionId)
  store.processes.pushFrame(sessionId, "old")
  addProcess(sessionId, 2)
  expect(store.processes.framesAfter(sessionId, 0)).toEqual([])
  expect(store.processes.pushFrame(sessionId, "new")).toBe(1)
})

test("a process that reads nothing gets no more frames than the limit", () => {
  const sessionId = addSession()
  addProcess(sessionId)
  store.transaction(() => {
    for (let count = 0; count < unacknowledgedFramesMax; count += 1) store.processes.pushFrame(sessionId, "x")
  })
  expect(store.processes.pushFrame(sessionId, "x")).toBeUndefined()
  store.processes.acknowledge(sessionId, 1)
  expect(store.processes.pushFrame(sessionId, "x")).toBe(unacknowledgedFramesMax + 1)
})

test("a message is handed out once, in order, and a repeat of it is not kept again", () => {
  const sessionId = addSession()
  const turnId = ports.newId("trn")
  const messages = ["a", "b"].map((text) => ({
    messageId: ports.newId("msg"),
    content: [{ type: "text" as const, text }],
  }))
  for (const message of messages) store.sessions.keepMessage({ sessionId, turnId }, message)
  expect(store.sessions.takeMessages(sessionId)).toEqual(messages)
  for (const message of messages) store.sessions.keepMessage({ sessionId, turnId }, message)
  expect(store.sessions.takeMessages(sessionId)).toEqual([])
})

test("a Session cannot be removed under its process, and afterwards leaves no row of any kind", () => {
  const sessionId = addSession()
  addProcess(sessionId)
  store.processes.pushFrame(sessionId, "x")
  store.sessions.keepMessage(
    { sessionId, turnId: ports.newId("trn") },
    { messageId: ports.newId("msg"), content: [] },
  )
  expect(() => store.transaction(() => store.sessions.remove(sessionId))).toThrow("FOREIGN KEY")
  expect(store.sessions.get(sessionId)).toBeDefined()
  store.processes.remove({ sessionId, generation: Generation.parse(1) })
  store.sessions.remove(sessionId)
  for (const table of ["sessions", "processes", "channel_frames", "turn_messages"])
    expect([table, store.database.query(`SELECT count(*) AS n FROM ${table}`).get()]).toEqual([
      table,
      { n: 0 },
    ])
})
