/** The channel's listener against a client that is under the test's control, with no process behind it. */
import { afterEach, beforeEach, expect, test } from "bun:test"
import { rmSync } from "node:fs"
import { type ChannelDownFrame, type ChannelUp, decodeChannelDown } from "@computerd/protocol/channel"
import { SupervisorConfiguration } from "@computerd/protocol/configuration"
import { Generation } from "@computerd/protocol/ids"
import { frameMaxBytes } from "@computerd/protocol/limits"
import { secretHash } from "@computerd/supervisor/channel/secret"
import { type ChannelServer, openChannelServer } from "@computerd/supervisor/channel/server"
import { createJournal, type JournalEntry } from "@computerd/supervisor/journal"
import { openStore, type Store } from "@computerd/supervisor/store/open"
import { newAssignment, ports, settled, temporaryDirectory } from "../harness.ts"

let directory: string
let store: Store
let server: ChannelServer
let entries: JournalEntry[]
let applied: ChannelUp[]
let failing: boolean
const secret = "a secret"
const identity = { sessionId: newAssignment("x").sessionId, generation: Generation.parse(1) }
const clients: Client[] = []

beforeEach(() => {
  directory = temporaryDirectory()
  entries = []
  applied = []
  failing = false
  const journal = createJournal(ports.clock, [(entry) => entries.push(entry)])
  const opened = openStore({ directory, ports, journal })
  if (!opened.ok) throw new Error(opened.error.message)
  store = opened.value
  store.sessions.put({
    sessionId: identity.sessionId,
    assignment: newAssignment("x", identity),
    generation: 1,
    wanted: true,
    turn: undefined,
    next: undefined,
    ending: undefined,
    finishedTurn: undefined,
    lastExit: undefined,
    recovery: undefined,
  })
  store.processes.put({
    ...identity,
    secretHash: secretHash(secret),
    pid: undefined,
    startTime: undefined,
    bootId: "",
    cgroup: undefined,
    startedAtMs: 0,
    received: 0,
    sent: 0,
    phase: "starting" as const,
    stop: undefined,
  })
  const config = SupervisorConfiguration.parse({
    computerId: ports.newId("cmp"),
    controlPlaneUrl: "http://127.0.0.1:1",
    credentialFile: "/c",
    stateDirectory: directory,
    workspace: directory,
    sessionHost: ["x"],
  })
  const created = openChannelServer({
    ports,
    journal,
    store,
    config,
    owner: {
      connected: () => undefined,
      disconnected: () => undefined,
      apply: (_process, body) => {
        if (failing) throw new Error("database or disk is full")
        applied.push(body)
      },
      wire: (_process, stored) => stored,
    },
  })
  if (!created.ok) throw new Error(created.error.message)
  server = created.value
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.close()
  await server.close()
  store.close()
  rmSync(directory, { recursive: true, force: true })
})

interface Client {
  readonly socket: WebSocket
  readonly frames: ChannelDownFrame[]
  readonly send: (frame: unknown) => void
  readonly next: <Kind extends ChannelDownFrame["kind"]>(
    kind: Kind,
  ) => Promise<Extract<ChannelDownFrame, { kind: Kind }>>
  readonly closed: Promise<number>
}

const dial = async (bearer = secret): Promise<Client> => {
  const headers = { Authorization: `Bearer ${bearer}` }
  const socket = new WebSocket(server.url, { headers } as unknown as string[])
  const frames: ChannelDownFrame[] = []
  const closed = new Promise<number>((resolve) =>
    socket.addEventListener("close", (event) => resolve(event.code)),
  )
  socket.addEventListener("message", (event) => {
    const decoded = decodeChannelDown(String(event.data))
    if (decoded.kind === "ok") frames.push(decoded.frame)
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve)
    socket.addEventListener("error", reject)
  })
  const client: Client = {
    socket,
    frames,
    send: (frame) => socket.send(typeof frame === "string" ? frame : JSON.stringify(frame)),
    next: <Kind extends ChannelDownFrame["kind"]>(kind: Kind) =>
      settled(() => {
        const index = frames.findIndex((frame) => frame.kind === kind)
        const [frame] = index === -1 ? [] : frames.splice(index, 1)
        return frame as Extract<ChannelDownFrame, { kind: Kind }> | undefined
      }, kind),
    closed,
  }
  clients.push(client)
  return client
}

const greet = async (received = 0): Promise<Client> => {
  const client = await dial()
  client.send({ kind: "hello", protocol: 1, ...identity, received })
  await client.next("welcome")
  return client
}

const frame = (seq: number, body: unknown = { type: "ready" }): unknown => ({
  kind: "frame",
  seq,
  ack: 0,
  body,
})
const push = (body: string): void => {
  store.processes.pushFrame(identity.sessionId, body)
  server.flush(identity.sessionId)
}
const shutdown = '{"type":"shutdown","graceMs":1}'

const knock = async (headers: Record<string, string>): Promise<number> => {
  const upgrade = { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13" }
  const key = { "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==" }
  const url = server.url.replace("ws:", "http:")
  return (await fetch(url, { headers: { ...upgrade, ...key, ...headers } })).status
}

test("without the secret, with a foreign Host or with an Origin nobody gets in", async () => {
  const Authorization = `Bearer ${secret}`
  expect(await knock({})).toBe(401)
  expect(await knock({ Authorization: "Bearer wrong" })).toBe(401)
  expect(await knock({ Authorization: `${Authorization}, ${Authorization}` })).toBe(401)
  expect(await knock({ Authorization, Host: "evil.test" })).toBe(403)
  expect(await knock({ Authorization, Host: `evil.test, 127.0.0.1:${server.port}` })).toBe(403)
  expect(await knock({ Authorization, Origin: `http://127.0.0.1:${server.port}` })).toBe(403)
})

test("CS1 a process that is gone opens nothing with its secret", async () => {
  store.processes.remove(identity)
  expect(await knock({ Authorization: `Bearer ${secret}` })).toBe(401)
})

test("a frame is applied with its cursor before it is acknowledged, and a repeat only acknowledged", async () => {
  const client = await greet()
  client.send(frame(1))
  expect(await client.next("ack")).toEqual({ kind: "ack", ack: 1 })
  expect(store.processes.get(identity.sessionId)?.received).toBe(1)
  client.send(frame(1))
  expect(await client.next("ack")).toEqual({ kind: "ack", ack: 1 })
  expect(applied).toHaveLength(1)
})

test("a frame that cannot be stored is neither acknowledged nor lost: it comes again and is applied once", async () => {
  const client = await greet()
  failing = true
  client.send(frame(1))
  expect(await client.closed).toBe(1013)
  expect(store.processes.get(identity.sessionId)?.received).toBe(0)
  failing = false
  const again = await greet()
  again.send(frame(1))
  await again.next("ack")
  expect(applied).toHaveLength(1)
})

test("a gap ends the connection", async () => {
  const client = await greet()
  client.send(frame(2))
  expect(await client.closed).toBe(1008)
  expect(applied).toEqual([])
})

test("CH3 an invalid frame is answered with its number, stepped over, and the next one is applied", async () => {
  const client = await greet()
  client.send(frame(1, { type: "no such type" }))
  expect(await client.next("invalid")).toMatchObject({ seq: 1 })
  client.send("this is not JSON")
  await client.next("invalid")
  client.send("x".repeat(frameMaxBytes + 1))
  await client.next("invalid")
  client.send(frame(2))
  await settled(() => applied.length === 1)
  expect(entries.filter((entry) => entry.event === "channel_frame_invalid")).toHaveLength(3)
})

test("frames are replayed from where the process stands, until it acknowledges them", async () => {
  push(shutdown)
  push(shutdown)
  const first = await greet()
  expect((await first.next("frame")).seq).toBe(1)
  expect((await first.next("frame")).seq).toBe(2)
  first.send({ kind: "ack", ack: 1 })
  first.socket.close()
  await first.closed
  const second = await greet(1)
  expect((await second.next("frame")).seq).toBe(2)
  second.send({ kind: "ack", ack: 2 })
  await settled(() => store.processes.framesAfter(identity.sessionId, 0).length === 0)
})

test("CS2 a newer connection of a process takes over from the older one", async () => {
  const first = await greet()
  const second = await greet()
  expect(await first.closed).toBe(1000)
  push(shutdown)
  expect((await second.next("frame")).seq).toBe(1)
})

test("a process that does not read loses nothing: what is beyond the buffer waits in the store", async () => {
  const client = await greet()
  const big = JSON.stringify({
    type: "message",
    turnId: ports.newId("trn"),
    messageId: ports.newId("msg"),
    content: [{ type: "text", text: "x".repeat(200_000) }],
  })
  for (let count = 0; count < 100; count += 1) push(big)
  await settled(() => client.frames.filter((each) => each.kind === "frame").length === 100)
  const seqs = client.frames.flatMap((each) => (each.kind === "frame" ? [each.seq] : []))
  expect(seqs).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
})

test("a ping is answered, and a superseded generation is told to end itself", async () => {
  const client = await greet()
  client.send({ kind: "ping" })
  await client.next("pong")
  const stale = await dial()
  stale.send({ kind: "hello", protocol: 1, ...identity, generation: 9, received: 0 })
  expect((await stale.next("reject")).error.code).toBe("superseded")
  await stale.closed
})

test("an ended process has its connection closed", async () => {
  const client = await greet()
  server.drop({ ...identity, generation: Generation.parse(2) })
  server.drop(identity)
  expect(await client.closed).toBe(1001)
})
