import { afterEach, expect, test } from "bun:test"
import { HoldId, type TurnId } from "@computerd/protocol/ids"
import type { Hold, LinkCommand, SessionAssignment } from "@computerd/protocol/link"
import { createWorld, newDispatch, ports, type World } from "../harness.ts"

let world: World
afterEach(() => world.close())

const start = async (agent: string, part?: Partial<SessionAssignment>): Promise<SessionAssignment> => {
  world = await createWorld()
  const assignment = world.assignment(agent, part)
  world.apply({ type: "assign", assignment })
  return assignment
}

const hold = (assignment: SessionAssignment): Hold => ({
  id: HoldId.parse(`hld_${Bun.randomUUIDv7()}`),
  sessionId: assignment.sessionId,
  kind: "recovery",
  createdAt: new Date(0).toISOString(),
})

const types = (): string[] => world.events.map((event) => event.type)
const count = (type: string): number => types().filter((each) => each === type).length

test("an assigned Session gets its process at once and a dispatched Turn runs in it", async () => {
  const { sessionId } = await start("echo")
  await world.event("process_ready")
  const command = world.dispatch(sessionId, "hello")
  world.apply(command)
  expect(await world.event("turn_settled")).toMatchObject({
    generation: 1,
    turnId: command.turn.id,
    outcome: { status: "completed", result: { text: "hello" } },
  })
  expect(types()).toEqual([
    "process_starting",
    "process_ready",
    "turn_started",
    "turn_output",
    "turn_settled",
  ])
})

test("a Turn that is dispatched before the process is ready waits for it", async () => {
  const { sessionId } = await start("echo")
  world.apply(world.dispatch(sessionId, "early"))
  expect(await world.event("turn_settled")).toMatchObject({ outcome: { status: "completed" } })
  expect(types().indexOf("process_ready")).toBeLessThan(types().indexOf("turn_started"))
})

test("a dispatch that comes again, before or after its Turn ended, changes nothing", async () => {
  const { sessionId } = await start("echo")
  const command = world.dispatch(sessionId, "once")
  world.apply(command, command)
  await world.event("turn_settled")
  world.apply(command)
  const second = newDispatch(sessionId, "then")
  world.apply(second)
  await world.event("turn_settled", (event) => event.turnId === second.turn.id)
  expect(count("turn_started")).toBe(2)
})

test("commands of a transaction that rolled back start nothing", async () => {
  world = await createWorld()
  const assignment = world.assignment("echo")
  const assign: LinkCommand = { type: "assign", assignment }
  expect(() =>
    world.store.transaction(() => {
      world.sessions.apply(assign)
      throw new Error("the cursor could not be moved")
    }),
  ).toThrow("cursor")
  expect(world.sessions.view()).toEqual([])
  expect(world.events).toEqual([])
  world.apply(assign)
  await world.event("process_ready")
})

test("a running Turn is cancelled and keeps its process", async () => {
  const { sessionId } = await start("echo")
  const command = world.dispatch(sessionId, "hang")
  world.apply(command)
  await world.event("turn_started")
  world.apply({
    type: "cancel_turn",
    sessionId,
    turnId: command.turn.id,
    status: "interrupted",
    graceMs: 5000,
  })
  expect(await world.event("turn_settled")).toMatchObject({ outcome: { status: "interrupted" } })
  const next = newDispatch(sessionId, "next")
  world.apply(next)
  expect(await world.event("turn_settled", (event) => event.turnId === next.turn.id)).toMatchObject({
    generation: 1,
  })
})

test("a Turn that ignores its cancellation is ended with its process, and the reason says so", async () => {
  const { sessionId } = await start("ignores-cancel")
  const command = world.dispatch(sessionId, "hang")
  world.apply(command)
  await world.event("turn_started")
  world.apply({ type: "cancel_turn", sessionId, turnId: command.turn.id, status: "cancelled", graceMs: 50 })
  expect(await world.event("process_exited")).toEqual({
    type: "process_exited",
    sessionId,
    generation: 1 as never,
    reason: { kind: "stop_timeout", afterMs: 50 },
    turnId: command.turn.id,
    expected: false,
    next: "hold",
  })
})

test("a Turn that was cancelled before its process got it never runs", async () => {
  const { sessionId } = await start("never-ready")
  const command = world.dispatch(sessionId, "hello")
  const messageId = ports.newId("msg")
  world.apply(
    command,
    { type: "message", sessionId, turnId: command.turn.id, message: { messageId, content: [] } },
    { type: "cancel_turn", sessionId, turnId: command.turn.id, status: "cancelled", graceMs: 1 },
  )
  expect(await world.event("turn_settled")).toMatchObject({
    turnId: command.turn.id,
    outcome: { status: "cancelled", error: { code: "cancelled" } },
  })
  expect(await world.event("messages_dropped")).toMatchObject({ messageIds: [messageId] })
  expect(count("turn_started")).toBe(0)
})

test("messages reach the Turn once and in order, also those that came before the process had it", async () => {
  const { sessionId } = await start("echo")
  const command = world.dispatch(sessionId, "hang")
  const message = (text: string): LinkCommand => ({
    type: "message",
    sessionId,
    turnId: command.turn.id,
    message: { messageId: ports.newId("msg"), content: [{ type: "text", text }] },
  })
  const [first, second, third] = [message("1"), message("2"), message("3")]
  world.apply(command, first, second)
  await world.event("turn_output", (event) => event.text === "message 2")
  world.apply(first, third)
  await world.event("turn_output", (event) => event.text === "message 3")
  expect(world.events.flatMap((event) => (event.type === "turn_output" ? [event.text] : []))).toEqual([
    "message 1",
    "message 2",
    "message 3",
  ])
})

test("a message to a Turn that does not run here is reported as dropped", async () => {
  const { sessionId } = await start("echo")
  const messageId = ports.newId("msg")
  const turnId = ports.newId("trn")
  world.apply({ type: "message", sessionId, turnId, message: { messageId, content: [] } })
  expect(await world.event("messages_dropped")).toMatchObject({ turnId, messageIds: [messageId] })
})

test("a message that reaches the process just after its Turn has settled is reported as dropped", async () => {
  const { sessionId } = await start("settles-first")
  const { turn, ...command } = world.dispatch(sessionId, "hang")
  const messageId = ports.newId("msg")
  world.apply({ ...command, turn })
  await world.event("turn_started")
  world.apply({ type: "message", sessionId, turnId: turn.id, message: { messageId, content: [] } })
  await world.event("turn_settled")
  expect(await world.event("messages_dropped")).toMatchObject({ turnId: turn.id, messageIds: [messageId] })
})

test("a held Session gets no process before its release, and the release starts it", async () => {
  world = await createWorld()
  const assignment = world.assignment("echo")
  const { sessionId } = assignment
  world.apply({ type: "assign", assignment: { ...assignment, holds: [hold(assignment)] } })
  expect(world.sessions.find(sessionId)).toMatchObject({ state: "assigned", held: true, generation: 0 })
  expect(world.events).toEqual([])
  world.apply({ type: "assign", assignment }, world.dispatch(sessionId, "hello"))
  await world.event("turn_settled")
})

test("a hold keeps a living process, and what it had not been given runs only when dispatched again", async () => {
  const assignment = await start("echo")
  const { sessionId } = assignment
  await world.event("process_ready")
  const command = world.dispatch(sessionId, "hello")
  world.store.transaction(() => {
    world.sessions.apply(command)
    world.sessions.apply({ type: "assign", assignment: { ...assignment, holds: [hold(assignment)] } })
  })
  expect(world.sessions.find(sessionId)).toMatchObject({ state: "ready", held: true, turn: undefined })
  world.apply({ type: "assign", assignment })
  expect(world.sessions.find(sessionId)).toMatchObject({ state: "ready", held: false, turn: undefined })
  world.apply(command)
  expect(await world.event("turn_settled")).toMatchObject({ generation: 1, turnId: command.turn.id })
})

test("a Turn that is dispatched while another one runs stops that one and follows it", async () => {
  const { sessionId } = await start("echo")
  const first = world.dispatch(sessionId, "hang")
  world.apply(first)
  await world.event("turn_started")
  const withdrawn = world.dispatch(sessionId, "withdrawn")
  const second = world.dispatch(sessionId, "second")
  world.store.transaction(() => {
    world.sessions.apply(withdrawn)
    world.sessions.apply({
      type: "cancel_turn",
      sessionId,
      turnId: withdrawn.turn.id,
      status: "cancelled",
      graceMs: 1000,
    })
    world.sessions.apply(second)
    world.sessions.apply(first)
  })
  const ended = async (turnId: TurnId): Promise<string> =>
    (await world.event("turn_settled", (event) => event.turnId === turnId)).outcome.status
  expect(await ended(withdrawn.turn.id)).toBe("cancelled")
  expect(await ended(first.turn.id)).toBe("interrupted")
  expect(await ended(second.turn.id)).toBe("completed")
  expect(count("turn_started")).toBe(2)
})

test("a getter call is answered, and the bearer is in no file of the store", async () => {
  const authorization = `Bearer ${crypto.randomUUID()}`
  const asked: unknown[] = []
  world = await createWorld({
    connect: (process, policy) => {
      asked.push({ ...process, policy })
      return Promise.resolve({
        ok: true,
        value: { url: "http://127.0.0.1:1/mcp", headers: { Authorization: authorization } },
      })
    },
  })
  const assignment = world.assignment("connects")
  world.apply({ type: "assign", assignment })
  const proof = await world.until(async () => await Bun.file(`${world.workspace}/connection.json`).exists())
  expect(await proof).toBeDefined()
  await world.until(() => world.entries.some((entry) => entry.event === "process_ready"))
  expect(asked).toEqual([{ sessionId: assignment.sessionId, generation: 1, policy: { given: false } }])
  for (const name of new Bun.Glob("**/*").scanSync(`${world.directory}/state`))
    expect([
      name,
      (await Bun.file(`${world.directory}/state/${name}`).text()).includes(authorization),
    ]).toEqual([name, false])
})
