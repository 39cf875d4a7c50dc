import { expect, test } from "bun:test"
import type { ChannelDownFrame } from "@computerd/protocol/channel"
import { FakeSupervisor } from "../fakes/supervisor-channel.ts"
import { hosts } from "./hosts.ts"
import { contextData, newId, program, turnData } from "./process.ts"

const { start, worker } = hosts()

/** A Turn that writes its sequence and then waits for a message. */
const waiting = `async turn(turn) {
  await turn.output.write(String(turn.sequence))
  return await new Promise((resolve) => turn.onMessage((message) => resolve(message.content)))
}`

test("the process greets with its protocol, Session and generation before anything else", async () => {
  const host = await worker("turn: () => null")
  expect(host.supervisor.frames[0]).toEqual({
    kind: "hello",
    protocol: 1,
    sessionId: host.sessionId,
    generation: 1 as never,
    received: 0,
  })
})

test("a process with a wrong secret never gets a connection, and never loads its program", async () => {
  const host = await start(program("turn: () => null", `console.log("loaded")`), { secret: "another" })
  await host.supervisor.until(() => host.supervisor.refusedUpgrades > 2, "three refused attempts")
  expect(host.supervisor.connections).toBe(0)
  host.child.kill("SIGKILL")
  expect(await host.stdout).toBe("")
})

test("the secret is in no argument and no environment variable of the process", async () => {
  const host = await worker(
    `turn: () => JSON.stringify([process.argv, process.env, Bun.spawnSync(["/usr/bin/env"]).stdout.toString()])`,
  )
  expect(JSON.stringify(await host.run())).not.toContain(host.secret)
})

test("every frame of the supervisor is acknowledged", async () => {
  const host = await worker("turn: () => null")
  await host.run()
  const { memory } = host.supervisor
  await host.supervisor.until(() => memory.outbound.size() === 0, "all acknowledged")
  expect(memory.outbound.lastSeq()).toBe(2)
})

test("a Turn goes on while the line is cut, and what it said meanwhile arrives once", async () => {
  const host = await worker(
    `async turn(turn) {
      await turn.output.write("begun")
      await new Promise((resolve) => turn.onMessage(resolve))
      for (let i = 0; i < 20; i++) await turn.output.write(String(i))
      return "done"
    }`,
  )
  const turnId = host.turn()
  await host.supervisor.next("turn_output")
  host.supervisor.send({ type: "message", turnId, messageId: newId("msg"), content: [] })
  host.supervisor.cut()
  expect(await host.settled(turnId)).toEqual({ status: "completed", result: "done" })
  expect(host.supervisor.of("turn_output").map((body) => body.text)).toEqual([
    "begun",
    ...Array.from({ length: 20 }, (_, index) => String(index)),
  ])
  expect(host.supervisor.problems).toEqual([])
})

test("a supervisor that is gone and comes back on the same port gets the running Turn", async () => {
  const host = await worker(waiting)
  const turnId = host.turn("", { sequence: 3 })
  await host.supervisor.next("turn_output")
  const next = await host.restartSupervisor()
  try {
    await next.until(() => next.connected, "the process to come back")
    next.send({ type: "message", turnId, messageId: newId("msg"), content: [{ type: "text", text: "go" }] })
    await next.next("turn_settled")
    expect(next.memory.applied.map((body) => body.type)).toEqual([
      "ready",
      "turn_started",
      "turn_output",
      "turn_settled",
    ])
    expect(next.of("turn_settled")[0]?.outcome).toEqual({
      status: "completed",
      result: [{ type: "text", text: "go" }],
    })
  } finally {
    await next.close()
  }
})

test("what was sent to a process while the line was down is applied once, in order, on the next one", async () => {
  const host = await worker(`turn: (turn) => turn.sequence`)
  host.supervisor.answering = false
  host.supervisor.cut()
  const turns = Array.from({ length: 5 }, (_, index) => host.turn("", { sequence: index + 1 }))
  await host.supervisor.until(
    () => host.supervisor.frames.filter((frame) => frame.kind === "hello").length > 1,
    "a second greeting",
  )
  host.supervisor.answering = true
  host.supervisor.cut()
  for (const [index, id] of turns.entries())
    expect(await host.settled(id)).toEqual({ status: "completed", result: index + 1 })
  expect(host.supervisor.of("turn_settled")).toHaveLength(5)
})

test.each(["turn_started", "turn_output", "turn_settled", "messages_dropped", "mcp_connection"] as const)(
  "a line that is cut as %s arrives costs nothing and doubles nothing",
  async (type) => {
    const host = await worker(
      `async turn(turn, ctx) {
        await turn.output.write("text")
        await ctx.mcp.getConnectionOptions().catch(() => {})
        return 1
      }`,
    )
    const { supervisor } = host
    let cuts = 0
    supervisor.onFrame = (frame) => {
      if (frame.kind !== "frame" || frame.body.type !== type || cuts > 2) return
      cuts += 1
      supervisor.cut()
    }
    const turnId = host.turn()
    supervisor.send({ type: "message", turnId, messageId: newId("msg"), content: [] })
    const { requestId } = await supervisor.next("mcp_connection")
    supervisor.send({
      type: "mcp_connection_result",
      requestId,
      result: { ok: false, error: { code: "runtime_mcp_denied", message: "no" } },
    })
    expect(await host.settled(turnId)).toEqual({ status: "completed", result: 1 })
    expect(cuts).toBe(3)
    expect(supervisor.memory.applied.map((body) => body.type)).toEqual([
      "ready",
      "turn_started",
      "turn_output",
      "mcp_connection",
      "messages_dropped",
      "turn_settled",
    ])
    expect(supervisor.problems).toEqual([])
  },
)

test("a frame that was applied but never acknowledged is not applied again", async () => {
  const host = await worker(`turn: () => ++runs`, "let runs = 0")
  host.supervisor.acknowledging = false
  const turnId = host.turn()
  await host.settled(turnId)
  host.supervisor.cut()
  await host.supervisor.until(() => host.supervisor.connections === 2, "a second connection")
  host.supervisor.acknowledging = true
  expect(await host.run()).toEqual({ status: "completed", result: 2 })
  expect(host.supervisor.of("turn_settled")).toHaveLength(2)
})

test("a repeated frame is acknowledged again and dropped", async () => {
  const host = await worker(`turn: () => ++runs`, "let runs = 0")
  const turn = turnData()
  const seq = host.supervisor.send({ type: "turn", turn })
  await host.settled(turn.id)
  const acks = () =>
    host.supervisor.frames.filter((frame) => frame.kind === "ack" && frame.ack === seq).length
  const before = acks()
  host.supervisor.raw({ kind: "frame", seq, ack: 0, body: { type: "turn", turn } })
  await host.supervisor.until(() => acks() > before, "a second acknowledgement")
  expect(await host.run()).toEqual({ status: "completed", result: 2 })
})

test("a gap makes the process reconnect for what lies between", async () => {
  const host = await worker(`turn: () => null`)
  const lost = turnData()
  host.supervisor.memory.outbound.push({ type: "turn", turn: lost })
  const seen = host.turn()
  expect((await host.settled(lost.id)).status).toBe("completed")
  expect((await host.settled(seen)).status).toBe("completed")
  expect(host.supervisor.connections).toBe(2)
  expect(host.supervisor.of("turn_settled")).toHaveLength(2)
})

const bad: readonly (readonly [string, string])[] = [
  ["no JSON", "{"],
  ["no object", "[]"],
  ["an unknown kind", `{"kind":"surprise"}`],
  ["a frame without a number", `{"kind":"frame","ack":0,"body":{"type":"shutdown","graceMs":0}}`],
  ["a second welcome", `{"kind":"welcome","protocol":1,"received":0}`],
  ["an acknowledgement of what was never sent", `{"kind":"ack","ack":99}`],
  ["a frame above the limit", JSON.stringify({ kind: "invalid", message: "a".repeat(2_097_152) })],
]

test.each(bad)("a bad frame is logged and answered, and the Session goes on: %s", async (_name, frame) => {
  const host = await worker(`turn: () => "fine"`)
  host.supervisor.raw(frame)
  await host.supervisor.until(
    () => host.supervisor.frames.some((one) => one.kind === "invalid"),
    "an answer to the bad frame",
  )
  expect(await host.run()).toEqual({ status: "completed", result: "fine" })
  expect(host.supervisor.connections).toBe(1)
  host.supervisor.send({ type: "shutdown", graceMs: 1_000 })
  await host.exited()
  expect(await host.stderr).toContain("refused a frame from the supervisor: ")
})

test("a numbered frame that cannot be read is answered by number and does not come back for ever", async () => {
  const host = await worker(`turn: () => "fine"`)
  const { outbound } = host.supervisor.memory
  const { seq } = outbound.push({ type: "shutdown", graceMs: 0 })!
  host.supervisor.raw(`{"kind":"frame","seq":${seq},"ack":0,"body":{"type":"dance","secret":"hidden"}}`)
  await host.supervisor.until(
    () => host.supervisor.frames.some((one) => one.kind === "invalid" && one.seq === seq),
    "an answer by number",
  )
  expect(await host.run()).toEqual({ status: "completed", result: "fine" })
  host.supervisor.send({ type: "shutdown", graceMs: 1_000 })
  await host.exited()
  expect(await host.stderr).not.toContain("hidden")
})

test("a frame before welcome is refused and changes nothing", async () => {
  const host = await start(program(`init: () => console.log("initialized"), turn: () => null`), {
    supervisor: {
      welcome: () =>
        ({
          kind: "frame",
          seq: 1,
          ack: 0,
          body: { type: "initialize", context: contextData() },
        }) satisfies ChannelDownFrame,
    },
  })
  await host.supervisor.until(
    () => host.supervisor.frames.some((one) => one.kind === "invalid"),
    "an answer to the early frame",
  )
  host.supervisor.raw({ kind: "welcome", protocol: 1, received: 0 })
  host.supervisor.send({ type: "shutdown", graceMs: 1_000 })
  expect(await host.exited()).toBe(0)
  expect(await host.stdout).toBe("")
})

test("a ping is answered, before welcome too", async () => {
  const host = await worker("turn: () => null")
  host.supervisor.raw({ kind: "ping" })
  await host.supervisor.until(() => host.supervisor.frames.some((one) => one.kind === "pong"), "pong")
})

test("a supervisor that accepts and never greets is left, and the next one is found", async () => {
  const host = await start(program("turn: () => 1"), {
    main: `${import.meta.dir}/../fixtures/session-host/quick-orphan.ts`,
  })
  host.supervisor.answering = false
  await host.supervisor.until(() => host.supervisor.connections > 1, "a second attempt")
  host.supervisor.answering = true
  await host.ready()
  expect(await host.run()).toEqual({ status: "completed", result: 1 })
})

test("output that nobody acknowledges stops its writer, not the settlement of a Turn", async () => {
  const host = await worker(
    `async turn(turn) {
      if (turn.sequence === 1) return await write(turn)
      return written
    }`,
    `let written = 0
     const write = async (turn: import("@helmr/sdk").Turn) => {
       turn.onCancel(() => turn.output.write("never sent").catch(() => {}))
       for (; ; written++) { if (turn.signal.aborted) return; await Promise.race([turn.output.write("x"), new Promise((resolve) => turn.onCancel(() => resolve(0)))]) }
     }`,
  )
  host.supervisor.acknowledging = false
  const turnId = host.turn("", { sequence: 1 })
  await host.supervisor.until(() => host.supervisor.of("turn_output").length === 1_000, "a full window")
  host.supervisor.raw({ kind: "ping" })
  await host.supervisor.until(() => host.supervisor.frames.at(-1)?.kind === "pong", "silence but for a pong")
  expect(host.supervisor.of("turn_output")).toHaveLength(1_000)
  host.supervisor.acknowledging = true
  host.supervisor.raw({ kind: "ack", ack: host.supervisor.memory.received })
  await host.supervisor.until(() => host.supervisor.of("turn_output").length > 2_000, "more output")
  host.supervisor.send({ type: "cancel_turn", turnId, status: "cancelled" })
  expect((await host.settled(turnId)).status).toBe("cancelled")
})

test("output that waits when its Turn ends is refused aloud, not dropped", async () => {
  const host = await worker(
    `turn(turn) { for (let i = 0; i < 1_010; i++) turn.output.write("x").catch((error) => { if (error.code === "turn_settled") refused += 1 }) ; return null },
     init: () => { setInterval(() => { if (refused > 0) { console.log(refused); refused = 0 } }, 1) }`,
    "let refused = 0",
  )
  host.supervisor.acknowledging = false
  await host.run()
  expect(host.supervisor.of("turn_output")).toHaveLength(1_000)
  host.supervisor.send({ type: "shutdown", graceMs: 1_000 })
  expect(await host.exited()).toBe(0)
  expect(await host.stdout).toBe("10\n")
})

test("a supervisor is found again after any number of restarts, and nothing is lost or doubled", async () => {
  const host = await worker(`turn: async (turn) => { await turn.output.write("out"); return turn.sequence }`)
  let supervisor: FakeSupervisor = host.supervisor
  const { memory } = supervisor
  const ids = []
  for (let round = 1; round <= 6; round++) {
    const turn = turnData("", { sequence: round })
    ids.push(turn.id)
    supervisor.send({ type: "turn", turn })
    const { port } = supervisor
    await supervisor.close()
    supervisor = new FakeSupervisor({ secret: host.secret, port }, memory)
  }
  try {
    await supervisor.until(() => supervisor.of("turn_settled").length === 6, "six settlements")
    expect(supervisor.of("turn_settled").map((body) => body.turnId)).toEqual(ids)
    expect(supervisor.of("turn_output")).toHaveLength(6)
    expect(memory.received).toBe(1 + 6 * 3)
  } finally {
    await supervisor.close()
  }
})
