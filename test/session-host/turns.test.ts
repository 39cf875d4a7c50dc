import { expect, test } from "bun:test"
import { contentMaxBytes, outcomeMaxBytes } from "@computerd/protocol/limits"
import { hosts } from "./hosts.ts"
import { newId, text } from "./process.ts"

const { worker } = hosts()

test("R108 input reaches the handler unchanged, 64 odd parts included", async () => {
  const host = await worker(`turn: (turn) => turn.input`)
  const odd = ["", "\u0000", "e\u0301", "🏳️‍🌈", "\ud800", "</script>", "\r\n\t", "‮", "a".repeat(4_000)]
  const input = Array.from({ length: 64 }, (_, index) => ({
    type: "text" as const,
    text: `${index}${odd[index % odd.length]}`,
  }))
  expect(await host.run("", { input })).toEqual({ status: "completed", result: input })
})

test("a handler sees its Turn: id, sequence, time, source", async () => {
  const host = await worker(
    `turn: ({ id, sequence, createdAt, source }) => ({ id, sequence, createdAt, source })`,
  )
  const source = { kind: "session" as const, requesterSessionId: newId("ses"), originTurnId: newId("trn") }
  const id = newId("trn")
  const outcome = await host.run("", { id, sequence: 7, createdAt: "2026-01-02T03:04:05.678Z", source })
  expect(outcome).toEqual({
    status: "completed",
    result: { id, sequence: 7, createdAt: "2026-01-02T03:04:05.678Z", source },
  })
})

test("Turns run strictly one at a time, in the order of their arrival", async () => {
  const host = await worker(
    `async turn(turn) {
      running += 1
      const seen = running
      await Bun.sleep(Math.random() * 5)
      running -= 1
      order.push(turn.sequence)
      return { seen, order: [...order] }
    }`,
    "let running = 0; const order: number[] = []",
  )
  const turns = Array.from({ length: 12 }, (_, index) => host.turn("", { sequence: index + 1 }))
  for (const [index, id] of turns.entries())
    expect(await host.settled(id)).toEqual({
      status: "completed",
      result: { seen: 1, order: Array.from({ length: index + 1 }, (_, at) => at + 1) },
    })
  const types = host.supervisor.memory.applied.map((body) => body.type).filter((type) => type !== "ready")
  expect(types).toEqual(turns.flatMap(() => ["turn_started", "turn_settled"] as const))
})

test("Turns that arrive before init has returned wait for it", async () => {
  const host = await worker(
    `init: () => Bun.sleep(30).then(() => "made"), turn: (_turn, ctx) => ctx.initResult`,
  )
  expect(await host.run()).toEqual({ status: "completed", result: "made" })
})

test("a handler that returns nothing has the result null", async () => {
  const host = await worker(`async turn() {}`)
  expect(await host.run()).toEqual({ status: "completed", result: null })
})

test.each([
  ["a function", "() => 1"],
  ["a BigInt inside", "({ rows: [{ count: 5n }] })"],
  ["a cycle", "(() => { const a: Record<string, unknown> = {}; a.a = a; return a })()"],
  ["NaN", "[Number.NaN]"],
  ["a symbol", "({ s: Symbol('x') })"],
  ["a Map", "new Map([[1, 2]])"],
  ["a Date", "({ at: new Date(0) })"],
  ["undefined in an array", "[undefined]"],
  ["a getter that throws", "({ get x() { throw new Error('no') } })"],
])("a result that JSON cannot hold fails the Turn with result_not_json: %s", async (_name, value) => {
  const host = await worker(`turn: (): never => (${value}) as never`)
  const outcome = await host.run()
  expect(outcome).toMatchObject({ status: "failed", error: { code: "result_not_json" } })
  expect(await host.run()).toMatchObject({ status: "failed" })
})

test("result_not_json says where the value is", async () => {
  const host = await worker(`turn: (): never => ({ rows: [{ count: 5n }] }) as never`)
  expect(await host.run()).toEqual({
    status: "failed",
    error: {
      code: "result_not_json",
      message: "The handler returned a BigInt at rows[0].count, which JSON cannot hold.",
    },
  })
})

test("a result of exactly the limit passes and one byte more fails with result_too_large", async () => {
  const host = await worker(`turn: (turn) => "a".repeat(Number(turn.input[0]?.text) - 2)`)
  expect(await host.run(String(outcomeMaxBytes))).toMatchObject({ status: "completed" })
  expect(await host.run(String(outcomeMaxBytes + 1))).toEqual({
    status: "failed",
    error: { code: "result_too_large", message: "The result takes more than 262144 bytes of JSON." },
  })
})

test("R159 a handler that throws fails its Turn with the message, and the Session goes on", async () => {
  const host = await worker(
    `turn: async (turn) => { if (turn.sequence === 1) throw new Error("the disk is full"); return "still here" }`,
  )
  expect(await host.run("", { sequence: 1 })).toEqual({
    status: "failed",
    error: { code: "handler_failed", message: "the disk is full" },
  })
  expect(await host.run("", { sequence: 2 })).toEqual({ status: "completed", result: "still here" })
})

test.each([
  ["a string", `"plain"`, "plain"],
  ["an object", `{ a: 1 }`, "threw { a: 1 }"],
  ["nothing", "undefined", "threw undefined"],
  ["an empty error", `new TypeError("")`, "TypeError"],
  ["an error of ours", `new HelmrError({ code: "not_found", message: "gone" })`, "not_found: gone"],
  [
    "an object that cannot be shown",
    `{ get message() { throw 1 }, [Symbol.toPrimitive]() { throw 1 } }`,
    "threw",
  ],
])("whatever is thrown becomes one bounded message: %s", async (_name, thrown, expected) => {
  const host = await worker(`turn: () => { throw ${thrown} }`)
  const outcome = await host.run()
  if (outcome.status !== "failed") throw new Error("must fail")
  expect(outcome.error.message?.replaceAll(/\s+/g, " ")).toStartWith(expected)
})

test("a thrown message is cut to a bound and carries no stack", async () => {
  const host = await worker(`turn: () => { throw new Error("x".repeat(1_000_000)) }`)
  const outcome = await host.run()
  if (outcome.status !== "failed") throw new Error("must fail")
  expect(outcome.error.message).toHaveLength(4_096)
})

test("respond gives the response beside the result, from a string or from parts", async () => {
  const host = await worker(
    `async turn(turn) { await turn.respond(turn.sequence === 1 ? "hi" : turn.input); return 1 }`,
  )
  expect(await host.run("", { sequence: 1 })).toEqual({
    status: "completed",
    result: 1,
    response: text("hi") as never,
  })
  expect(await host.run("yes", { sequence: 2 })).toEqual({
    status: "completed",
    result: 1,
    response: [{ type: "text", text: "yes" }],
  })
})

const attempt = `const attempt = (work: () => Promise<unknown>) => work().then(() => "ok", (error) => error instanceof HelmrError ? error.code : String(error))`

test("a second respond rejects with already_responded and changes nothing", async () => {
  const host = await worker(
    `async turn(turn) { await turn.respond("one"); return await attempt(() => turn.respond("two")) }`,
    attempt,
  )
  expect(await host.run()).toEqual({
    status: "completed",
    result: "already_responded",
    response: [{ type: "text", text: "one" }],
  })
})

test.each([
  ["a number", "5", "invalid_arguments"],
  ["null", "null", "invalid_arguments"],
  ["a part without text", `[{ type: "text" }]`, "invalid_arguments"],
  ["a part with more than text", `[{ type: "text", text: "a", more: 1 }]`, "invalid_arguments"],
  ["an image", `[{ type: "image", text: "a" }]`, "content_kind_unsupported"],
])("respond refuses what is not content: %s", async (_name, content, code) => {
  const host = await worker(`turn: (turn) => attempt(() => turn.respond(${content} as never))`, attempt)
  expect(await host.run()).toEqual({ status: "completed", result: code })
})

test("a response above the limit fails the Turn with result_too_large, whoever caught the error", async () => {
  const host = await worker(
    `turn: (turn) => attempt(() => turn.respond("a".repeat(${outcomeMaxBytes})))`,
    attempt,
  )
  expect(await host.run()).toMatchObject({ status: "failed", error: { code: "result_too_large" } })
})

test("a shorter response after one above the limit is taken", async () => {
  const host = await worker(
    `async turn(turn) { const first = await attempt(() => turn.respond("a".repeat(${outcomeMaxBytes}))); await turn.respond("short"); return first }`,
    attempt,
  )
  expect(await host.run()).toEqual({
    status: "completed",
    result: "result_too_large",
    response: [{ type: "text", text: "short" }],
  })
})

test("output is relayed in order and before the settlement", async () => {
  const host = await worker(
    `async turn(turn) { for (let i = 0; i < 50; i++) void turn.output.write(String(i)); await turn.output.write("end") }`,
  )
  await host.run()
  const { applied } = host.supervisor.memory
  expect(host.supervisor.of("turn_output").map((body) => body.text)).toEqual([
    ...Array.from({ length: 50 }, (_, index) => String(index)),
    "end",
  ])
  expect(applied.at(-1)?.type).toBe("turn_settled")
})

test("long output is cut into chunks between characters", async () => {
  const host = await worker(
    `turn: (turn) => turn.output.write("🦜".repeat(60_000) + "é".repeat(60_000) + "a".repeat(70_000))`,
  )
  await host.run()
  const chunks = host.supervisor.of("turn_output").map((body) => body.text)
  expect(chunks.join("")).toBe("🦜".repeat(60_000) + "é".repeat(60_000) + "a".repeat(70_000))
  for (const chunk of chunks) {
    expect(Buffer.byteLength(chunk)).toBeLessThanOrEqual(65_536)
    expect(chunk.isWellFormed()).toBe(true)
  }
})

test("what is tried after the Turn has settled rejects with turn_settled", async () => {
  const host = await worker(
    `async turn(turn) {
      const before = earlier
      earlier = turn
      if (before === undefined) return null
      return [
        await attempt(() => before.respond("late")),
        await attempt(() => before.output.write("late")),
        await attempt(() => before.ask("late")),
        await attempt(async () => before.onMessage(() => {})),
      ]
    }`,
    `${attempt}; let earlier: import("@helmr/sdk").Turn | undefined`,
  )
  await host.run()
  expect(await host.run()).toEqual({
    status: "completed",
    result: ["turn_settled", "turn_settled", "turn_settled", "turn_settled"],
  })
  expect(host.supervisor.of("turn_output")).toEqual([])
})

test.each(["interrupted", "cancelled"] as const)(
  "a Turn that is told to stop settles as %s once its handler has ended",
  async (status) => {
    const host = await worker(
      `async turn(turn) {
      await turn.output.write("begun")
      await new Promise((resolve) => turn.signal.addEventListener("abort", resolve))
      await turn.output.write(turn.signal.reason.code)
      return "a value that must not count"
    }`,
    )
    const id = host.turn()
    await host.supervisor.next("turn_output")
    host.supervisor.send({ type: "cancel_turn", turnId: id, status })
    expect(await host.settled(id)).toMatchObject({ status, error: { code: status } })
    expect((await host.supervisor.next("turn_output", 1)).text).toBe(status)
  },
)

test("a handler that throws because of its signal is interrupted, not failed", async () => {
  const host = await worker(
    `async turn(turn) {
      await turn.output.write("begun")
      await new Promise((_, reject) => turn.onCancel(() => reject(new Error("stopped"))))
    }`,
  )
  const id = host.turn()
  await host.supervisor.next("turn_output")
  host.supervisor.send({ type: "cancel_turn", turnId: id, status: "interrupted" })
  expect(await host.settled(id)).toMatchObject({ status: "interrupted", error: { code: "interrupted" } })
})

test("cancel listeners run in order, late ones at once, and the Turn waits for them", async () => {
  const host = await worker(
    `async turn(turn) {
      turn.onCancel(async () => { await Bun.sleep(20); await turn.output.write("first done") })
      turn.onCancel(() => { void turn.output.write("second") })
      turn.onCancel(() => { throw new Error("third fails") })
      await turn.output.write("begun")
      await new Promise<void>((resolve) => turn.signal.addEventListener("abort", () => resolve()))
      turn.onCancel(() => { void turn.output.write("late") })
    }`,
  )
  const id = host.turn()
  await host.supervisor.next("turn_output")
  host.supervisor.send({ type: "cancel_turn", turnId: id, status: "cancelled" })
  expect((await host.settled(id)).status).toBe("cancelled")
  expect(host.supervisor.of("turn_output").map((body) => body.text)).toEqual([
    "begun",
    "second",
    "late",
    "first done",
  ])
})

test("a handler that had ended before the cancel came stays completed", async () => {
  const host = await worker(`turn: () => "done"`)
  const id = host.turn()
  expect(await host.settled(id)).toEqual({ status: "completed", result: "done" })
  host.supervisor.send({ type: "cancel_turn", turnId: id, status: "cancelled" })
  expect(await host.run()).toEqual({ status: "completed", result: "done" })
  expect(host.supervisor.of("turn_settled")).toHaveLength(2)
})

test("a cancel after an interrupt settles as cancelled", async () => {
  const host = await worker(
    `async turn(turn) {
      await turn.output.write("begun")
      await new Promise((resolve) => turn.onMessage(resolve))
    }`,
  )
  const turnId = host.turn()
  await host.supervisor.next("turn_output")
  host.supervisor.send({ type: "cancel_turn", turnId, status: "interrupted" })
  host.supervisor.send({ type: "cancel_turn", turnId, status: "cancelled" })
  host.supervisor.send({ type: "message", turnId, messageId: newId("msg"), content: [] })
  expect((await host.settled(turnId)).status).toBe("cancelled")
})

test("a Turn that is cancelled before it began never runs", async () => {
  const host = await worker(
    `async turn(turn) { ran.push(turn.sequence); if (turn.sequence === 1) await new Promise((resolve) => turn.onMessage(resolve)); return [...ran] }`,
    "const ran: number[] = []",
  )
  const first = host.turn("", { sequence: 1 })
  await host.supervisor.next("turn_started")
  const second = host.turn("", { sequence: 2 })
  host.supervisor.send({ type: "cancel_turn", turnId: second, status: "cancelled" })
  expect((await host.settled(second)).status).toBe("cancelled")
  host.supervisor.send({ type: "message", turnId: first, messageId: newId("msg"), content: [] })
  await host.settled(first)
  expect(await host.run("", { sequence: 3 })).toEqual({ status: "completed", result: [1, 3] })
  expect(host.supervisor.of("turn_started").map((body) => body.turnId)).not.toContain(second)
})

test("a response is refused once the Turn is told to stop", async () => {
  const host = await worker(
    `async turn(turn) {
      await turn.output.write("begun")
      await new Promise<void>((resolve) => turn.onCancel(() => resolve()))
      await turn.output.write(String(await attempt(() => turn.respond("late"))))
    }`,
    attempt,
  )
  const turnId = host.turn()
  await host.supervisor.next("turn_output")
  host.supervisor.send({ type: "cancel_turn", turnId, status: "interrupted" })
  expect((await host.supervisor.next("turn_output", 1)).text).toBe("interrupted")
})

test("R117 messages reach the listener in order, those before it was set first", async () => {
  const host = await worker(
    `async turn(turn) {
      await turn.output.write("begun")
      await new Promise((resolve) => { gate = resolve })
      const got: unknown[] = []
      return await new Promise((resolve) => turn.onMessage(({ id, content }) => {
        got.push({ id, text: content[0]?.text })
        if (got.length === 6) resolve(got)
        if (got.length === 3) void turn.output.write("three")
      }))
    }`,
    "let gate: (value: unknown) => void = () => {}; setInterval(() => gate(0), 20)",
  )
  const turnId = host.turn()
  await host.supervisor.next("turn_output")
  const messages = Array.from({ length: 6 }, (_, index) => ({ id: newId("msg"), text: `m${index}` }))
  const deliver = ({ id, text: words }: { id: (typeof messages)[number]["id"]; text: string }) =>
    host.supervisor.send({ type: "message", turnId, messageId: id, content: [{ type: "text", text: words }] })
  messages.slice(0, 3).forEach(deliver)
  await host.supervisor.next("turn_output", 1)
  messages.slice(3).forEach(deliver)
  expect(await host.settled(turnId)).toEqual({ status: "completed", result: messages })
  expect(host.supervisor.of("messages_dropped")).toEqual([])
})

test("R119 messages that nobody took are reported before the settlement", async () => {
  const host = await worker(
    `async turn(turn) { await turn.output.write("begun"); await new Promise<void>((resolve) => turn.onCancel(() => resolve())) }`,
  )
  const turnId = host.turn()
  await host.supervisor.next("turn_output")
  const messageIds = [newId("msg"), newId("msg")]
  for (const messageId of messageIds)
    host.supervisor.send({ type: "message", turnId, messageId, content: [] })
  host.supervisor.send({ type: "cancel_turn", turnId, status: "interrupted" })
  await host.settled(turnId)
  expect(host.supervisor.of("messages_dropped")).toEqual([{ type: "messages_dropped", turnId, messageIds }])
  expect(host.supervisor.memory.applied.at(-1)?.type).toBe("turn_settled")
})

test("a message that comes after the settlement is reported as dropped", async () => {
  const host = await worker(`turn: () => null`)
  const turnId = host.turn()
  await host.settled(turnId)
  const messageId = newId("msg")
  host.supervisor.send({ type: "message", turnId, messageId, content: [] })
  expect(await host.supervisor.next("messages_dropped")).toEqual({
    type: "messages_dropped",
    turnId,
    messageIds: [messageId],
  })
})

test("a message listener that throws fails no Turn", async () => {
  const host = await worker(
    `async turn(turn) {
      const got = new Promise<void>((resolve) => turn.onMessage(async () => { resolve(); throw new Error("listener broke") }))
      await turn.output.write("begun")
      await got
      return "fine"
    }`,
  )
  const turnId = host.turn()
  await host.supervisor.next("turn_output")
  host.supervisor.send({ type: "message", turnId, messageId: newId("msg"), content: [] })
  expect(await host.settled(turnId)).toEqual({ status: "completed", result: "fine" })
})

test("a root Session asks a person and gets the answer", async () => {
  const host = await worker(`turn: (turn) => turn.ask("which one?")`)
  const turnId = host.turn()
  const asked = await host.supervisor.next("ask")
  expect(asked).toEqual({
    type: "ask",
    requestId: asked.requestId,
    turnId,
    question: [{ type: "text", text: "which one?" }],
  })
  const answer = [{ type: "text" as const, text: "the blue one" }]
  host.supervisor.send({
    type: "ask_result",
    requestId: asked.requestId,
    result: { ok: true, value: { questionId: newId("qst"), answer } },
  })
  expect(await host.settled(turnId)).toEqual({ status: "completed", result: answer })
})

test("a refused question rejects with its code", async () => {
  const host = await worker(`turn: (turn) => attempt(() => turn.ask([]))`, attempt)
  const turnId = host.turn()
  const { requestId } = await host.supervisor.next("ask")
  host.supervisor.send({
    type: "ask_result",
    requestId,
    result: { ok: false, error: { code: "admission_unavailable", message: "later" } },
  })
  expect(await host.settled(turnId)).toEqual({ status: "completed", result: "admission_unavailable" })
})

test("a question that waits is given up when its Turn is told to stop", async () => {
  const host = await worker(
    `async turn(turn) { await turn.output.write(await attempt(() => turn.ask("still there?"))) }`,
    attempt,
  )
  const turnId = host.turn()
  const { requestId } = await host.supervisor.next("ask")
  host.supervisor.send({ type: "cancel_turn", turnId, status: "cancelled" })
  expect((await host.settled(turnId)).status).toBe("cancelled")
  expect((await host.supervisor.next("turn_output")).text).toBe("cancelled")
  // A late answer meets nobody and harms nothing.
  host.supervisor.send({
    type: "ask_result",
    requestId,
    result: { ok: true, value: { questionId: newId("qst"), answer: [] } },
  })
  const next = host.turn()
  await host.supervisor.next("ask", 1)
  host.supervisor.send({ type: "cancel_turn", turnId: next, status: "interrupted" })
  expect((await host.settled(next)).status).toBe("interrupted")
})

test("a question above the limits is refused before it leaves", async () => {
  const host = await worker(
    `async turn(turn) { return [await attempt(() => turn.ask("a".repeat(${contentMaxBytes}))), await attempt(() => turn.ask(Array.from({ length: 65 }, () => ({ type: "text" as const, text: "" }))))] }`,
    attempt,
  )
  expect(await host.run()).toEqual({
    status: "completed",
    result: ["content_limit_exceeded", "content_limit_exceeded"],
  })
})
