import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test"
import { follow } from "@computerd/control-plane/api/events/follow"
import { createPages } from "@computerd/control-plane/api/events/pages"
import { createWakes } from "@computerd/control-plane/api/events/wakes"
import { createOpenRequests } from "@computerd/control-plane/api/open-requests"
import { turnOutputMaxBytes } from "@computerd/protocol/api/limits"
import type { SessionId, TurnId } from "@computerd/protocol/ids"
import { environment, freshKey, type Supervisor, text, value } from "../rig.ts"
import { type ApiClient, type ApiRig, createRig, other } from "./rig.ts"
import { connect, type SeenEvent } from "./stream.ts"

setDefaultTimeout(30_000)

let rig: ApiRig
let client: ApiClient
beforeEach(async () => {
  rig = await createRig({ settings: { heartbeatMs: 200 } })
  client = rig.client()
  rig.publish(["lead", "worker"])
})
afterEach(() => rig.close())

interface Running {
  readonly sessionId: SessionId
  readonly turnId: TurnId
  readonly supervisor: Supervisor
}

const running = async (): Promise<Running> => {
  const started = await rig.start(client)
  return { ...started, supervisor: rig.run(started) }
}

const say = ({ sessionId, turnId, supervisor }: Running, said: string): void => {
  const generation = supervisor.generation(sessionId)
  const told = supervisor.emit({ type: "turn_output", sessionId, generation, turnId, text: said })
  if (!told.ok) throw new Error(told.error.message)
}

const page = async (sessionId: SessionId, query = "") =>
  (await client.get(`/v1/sessions/${sessionId}/events${query}`)).body

const stream = (sessionId: SessionId, query = "") => `/v1/sessions/${sessionId}/events/stream${query}`

const typesOf = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type)

const whole = [
  "session_created",
  "turn_queued",
  "process_starting",
  "process_ready",
  "turn_started",
  "turn_output",
  "turn_settled",
]

test("a Session's life reads as a story, by pages and as a stream, and both end where it ends", async () => {
  const one = await running()
  const follower = await connect(client, rig.url, stream(one.sessionId))
  say(one, "hello")
  one.supervisor.settle(one.sessionId, one.turnId)
  await client.post(`/v1/sessions/${one.sessionId}/close`, { idempotencyKey: freshKey() })
  await follower.over
  const story = [...whole, "session_closing", "session_closed"]
  expect(typesOf(follower.seen)).toEqual(story)
  expect(follower.seen.every(({ type, data }) => type === data["type"])).toBe(true)

  const first = await page(one.sessionId, "?limit=4")
  expect(first.more).toBe(true)
  const rest = await page(one.sessionId, `?after=${encodeURIComponent(first.nextCursor)}`)
  expect(rest.more).toBe(false)
  expect(typesOf([...first.events, ...rest.events])).toEqual(story)
  const none = await page(one.sessionId, `?after=${encodeURIComponent(rest.nextCursor)}`)
  expect(none).toEqual({ events: [], more: false, nextCursor: rest.nextCursor })
  const over = await connect(client, rig.url, stream(one.sessionId), [...follower.seen])
  expect(over.status).toBe(204)
})

test("no event holds an input, a message or a result", async () => {
  const started = await rig.start(client, "lead", { input: text("secret-input") })
  const supervisor = rig.run(started)
  await client.post(`/v1/sessions/${started.sessionId}/turns/${started.turnId}/send`, {
    message: text("secret-message"),
    idempotencyKey: freshKey(),
  })
  supervisor.settle(started.sessionId, started.turnId, "secret-result")
  const { events } = await page(started.sessionId)
  expect(typesOf(events)).toContain("message_accepted")
  expect(JSON.stringify(events)).not.toContain("secret-")
})

test("a tree is followed whole: children that come later too, and the parent closes last", async () => {
  const parent = await running()
  const follower = await connect(client, rig.url, stream(parent.sessionId, "?tree=true"))
  const spawned = value(
    await parent.supervisor.call(parent.sessionId, "spawn", {
      agent: "worker",
      input: text("work"),
      idempotencyKey: freshKey(),
    }),
  )
  const child = String(spawned["sessionId"])
  await client.post(`/v1/sessions/${parent.sessionId}/interrupt`, { idempotencyKey: freshKey() })
  parent.supervisor.emit({
    type: "turn_settled",
    sessionId: parent.sessionId,
    generation: parent.supervisor.generation(parent.sessionId),
    turnId: parent.turnId,
    outcome: { status: "interrupted", error: { code: "interrupted" } },
  })
  await client.post(`/v1/sessions/${parent.sessionId}/cancel`, { idempotencyKey: freshKey() })
  await follower.over
  const closings = follower.seen.filter(({ type }) => type === "session_closed")
  expect(closings.map(({ sessionId }) => sessionId)).toEqual([child, parent.sessionId])
  const sequences = follower.seen.map(({ sequence }) => sequence)
  expect(sequences).toEqual(sequences.map((_, index) => index + 1))

  const alone = await page(parent.sessionId)
  expect(alone.events.every((event: SeenEvent) => event.sessionId === parent.sessionId)).toBe(true)
  const branch = await client.get(`/v1/sessions/${child}/events?tree=true`)
  expect(branch.body.events.every((event: SeenEvent) => event.sessionId === child)).toBe(true)
  expect(typesOf(branch.body.events).at(-1)).toBe("session_closed")
})

test("a cursor from elsewhere and one that was made up are refused by name", async () => {
  const [one, another] = [await running(), await running()]
  rig.publish(["lead"], undefined, other)
  const theirs = rig.client(undefined, other)
  const foreign = await rig.start(theirs)
  const cursors = [
    (await page(another.sessionId)).nextCursor,
    (await theirs.get(`/v1/sessions/${foreign.sessionId}/events`)).body.nextCursor,
    "3~AAAA",
    "3",
  ]
  for (const cursor of cursors) {
    for (const path of ["events", "events/stream"]) {
      const answer = await client.get(
        `/v1/sessions/${one.sessionId}/${path}?after=${encodeURIComponent(cursor)}`,
      )
      expect([answer.status, answer.body.error.code, answer.body.error.field]).toEqual([
        400,
        "invalid_arguments",
        "after",
      ])
    }
  }
})

test("output is kept to its bound; one event says that the rest is not", async () => {
  const one = await running()
  const chunk = "x".repeat(64 * 1024)
  const fitting = turnOutputMaxBytes / chunk.length
  for (let count = 0; count < fitting + 5; count += 1) say(one, chunk)
  const seen: SeenEvent[] = []
  for (let after = ""; ; ) {
    const next = await page(one.sessionId, after)
    seen.push(...next.events)
    if (!next.more) break
    after = `?after=${encodeURIComponent(next.nextCursor)}`
  }
  expect(typesOf(seen).filter((type) => type === "turn_output")).toHaveLength(fitting)
  expect(seen.filter(({ type }) => type === "turn_output_truncated")).toMatchObject([
    { turnId: one.turnId, keptBytes: turnOutputMaxBytes },
  ])
})

test("silence is filled with signs of life, and an event still comes through", async () => {
  const one = await running()
  const follower = await connect(client, rig.url, stream(one.sessionId))
  const before = follower.comments()
  await new Promise<void>((resolve) => {
    const look = setInterval(() => {
      if (follower.comments() < before + 2) return
      clearInterval(look)
      resolve()
    }, 10)
  })
  say(one, "after silence")
  await follower.until((seen) => seen.some(({ data }) => data["text"] === "after silence"))
  follower.cut()
  await follower.over
})

test("100 followers each see every event once and in order, across reconnects and a restart", async () => {
  const one = await running()
  const rounds = 40
  const path = stream(one.sessionId)
  const seen = Array.from({ length: 100 }, (): SeenEvent[] => [])
  let followers = await Promise.all(seen.map((own) => connect(client, rig.url, path, own)))
  const supervisor = one.supervisor
  for (let round = 0; round < rounds; round += 1) {
    say(one, `line ${round}`)
    if (round % 10 === 3) {
      // A third of them lose their connection at whatever place they are.
      followers = await Promise.all(
        followers.map(async (follower, index) => {
          if (index % 3 !== 0) return follower
          follower.cut()
          await follower.over
          return connect(client, rig.url, path, follower.seen)
        }),
      )
    }
    if (round === 20) {
      await rig.restart()
      await Promise.all(followers.map(({ over }) => over))
      supervisor.attach([
        {
          sessionId: one.sessionId,
          generation: supervisor.generation(one.sessionId),
          state: "running",
          turnId: one.turnId,
        },
      ])
      followers = await Promise.all(
        followers.map((follower) => connect(client, rig.url, path, follower.seen)),
      )
    }
  }
  supervisor.settle(one.sessionId, one.turnId)
  await client.post(`/v1/sessions/${one.sessionId}/close`, { idempotencyKey: freshKey() })
  await Promise.all(followers.map(({ over }) => over))
  const expected = [
    ...whole.slice(0, 5),
    ...Array.from({ length: rounds }, () => "turn_output"),
    "turn_settled",
    "session_closing",
    "session_closed",
  ]
  for (const own of seen) {
    expect(typesOf(own)).toEqual(expected)
    expect(own.map(({ sequence }) => sequence)).toEqual(expected.map((_, index) => index + 1))
    expect(new Set(own.map(({ id }) => id)).size).toBe(expected.length)
  }
})

test("a follower reads from the store only as fast as its peer takes what it sends", async () => {
  const one = await running()
  for (let count = 0; count < 350; count += 1) say(one, `line ${count}`)
  let reads = 0
  const pages = createPages((where, asked) => {
    reads += 1
    return rig.receiver.outside.events(where, asked)
  })
  const place = { environment, sessionId: one.sessionId, tree: false, after: undefined }
  const first = pages.read(place)
  const opened = createOpenRequests(1).open(client.keyId)
  if (!first.ok || !opened.ok) throw new Error("the follower was refused")
  const wakes = createWakes(rig.ports)
  const { body } = follow(place, first.value, { pages, wakes, heartbeatMs: 1_000, opened: opened.value })
  const reader = body?.getReader()
  await reader?.read()
  await Bun.sleep(0)
  expect(reads).toBe(1)
  await reader?.read()
  await Bun.sleep(0)
  expect(reads).toBe(2)
  await reader?.cancel()
  expect(opened.value.signal.aborted).toBe(true)
})

test("followers of one place read one page together", async () => {
  const one = await running()
  let reads = 0
  const pages = createPages((where, asked) => {
    reads += 1
    return rig.receiver.outside.events(where, asked)
  })
  const place = { environment, sessionId: one.sessionId, tree: false, after: undefined }
  for (let count = 0; count < 100; count += 1) pages.read(place)
  expect(reads).toBe(1)
})
