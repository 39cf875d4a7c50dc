/** Malformed arguments: each tool names the argument that is missing, unknown or wrong, and nothing happens. */

import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import type { Json } from "@computerd/protocol/content"
import { code, startRoot, text } from "../rig.ts"
import {
  type Arguments,
  ask,
  call,
  eachTest,
  type Member,
  refusal,
  unknownHold,
  unknownSession,
  unknownTurn,
} from "./scene.ts"

const at = eachTest()

const sessionId = unknownSession
const turnId = unknownTurn
const idempotencyKey = "key"
const input = text("x")

/** Well-formed arguments that hold every required field and no other. */
const required: Readonly<Record<string, Arguments>> = {
  list_agents: { operation: "spawn" },
  spawn: { agent: "helper", input, idempotencyKey },
  start: { agent: "helper", input, idempotencyKey },
  enqueue: { sessionId, input, idempotencyKey },
  send_turn: { sessionId, turnId, message: input, idempotencyKey },
  interrupt_turn: { sessionId, turnId, idempotencyKey },
  interrupt_session: { sessionId, idempotencyKey },
  resume_session: { sessionId, holdId: unknownHold, idempotencyKey },
  close_session: { sessionId, idempotencyKey },
  cancel_session: { sessionId, idempotencyKey },
  inspect_session: { sessionId },
  list_sessions: { relation: "owned" },
  inspect_turn: { sessionId, turnId },
  wait_turn: { sessionId, turnId, timeoutMs: 1 },
}

const everyTool: Readonly<Record<string, Arguments>> = { ...required, list_computers: {} }

const setUp = (): Member => {
  at().publish(["lead", "helper"])
  return startRoot(at(), "lead")
}

const expectNamed = async (root: Member, tool: string, args: Arguments, field: string) => {
  const answer = refusal(await call(root, tool, args))
  expect(`${tool} ${answer}`).toStartWith(`${tool} invalid_arguments: ${field}`)
}

test("R107 R116 R120 R122 R136 R144 R156 R167 each required argument that is missing is named", async () => {
  const root = setUp()
  const before = at().receiver.snapshot()
  for (const [tool, args] of Object.entries(required))
    for (const field of Object.keys(args)) {
      const { [field]: _, ...others } = args
      await expectNamed(root, tool, others, field)
    }
  expect(at().receiver.snapshot()).toEqual(before)
})

test("R107 R167 an argument that no tool knows is named", async () => {
  const root = setUp()
  for (const [tool, args] of Object.entries(everyTool))
    for (const field of ["callerSessionId", "parentSessionId", "x"])
      await expectNamed(root, tool, { ...args, [field]: "y" }, field)
  expect(at().receiver.snapshot().sessions.length).toBe(1)
})

test("R167 an id with another kind's prefix, another shape or another type is named", async () => {
  const root = setUp()
  const wrong: readonly Json[] = [root.supervisor.computerId, "ses_1", "", 7, null, ["a"], {}]
  for (const [tool, args] of Object.entries(required))
    for (const field of ["sessionId", "turnId", "holdId"])
      if (field in args)
        for (const bad of wrong) await expectNamed(root, tool, { ...args, [field]: bad }, field)
  for (const tool of ["spawn", "start"])
    for (const computerId of [root.sessionId, null, 3])
      await expectNamed(root, tool, { ...required[tool], computerId }, "computerId")
})

test("R167 idempotency keys are 1 to 512 bytes without NUL", async () => {
  const root = setUp()
  const spawn = (key: Json) => call(root, "spawn", { agent: "helper", input, idempotencyKey: key })
  for (const key of ["", "a\0b", "k".repeat(513), "é".repeat(257), "\ud800", 5, null])
    expect(refusal(await spawn(key))).toStartWith("invalid_arguments: idempotencyKey")
  for (const key of ["k", "k".repeat(512), "é".repeat(256)]) expect(code(await spawn(key))).toBe("ok")
})

test("R82 R83 R84 R242 creation, enqueue and messages judge their text parts", async () => {
  const root = setUp()
  const parts = (count: number) => Array.from({ length: count }, () => ({ type: "text", text: "" }))
  const malformed: readonly Json[] = ["x", { type: "text", text: "x" }, null, [{ type: "text" }], [5]]
  const strict = [{ type: "text", text: "x", more: 1 }]
  for (const [tool, field] of [
    ["spawn", "input"],
    ["start", "input"],
    ["enqueue", "input"],
    ["send_turn", "message"],
  ] as const) {
    const asked = (content: Json) => call(root, tool, { ...required[tool], [field]: content })
    for (const content of [...malformed, strict])
      expect(refusal(await asked(content))).toStartWith(`invalid_arguments: ${field}`)
    expect(code(await asked([{ type: "image" }]))).toBe("content_kind_unsupported")
    expect(code(await asked(parts(65)))).toBe("content_limit_exceeded")
    expect(code(await asked(text("x".repeat(262_144))))).toBe("content_limit_exceeded")
  }
  expect(at().receiver.snapshot().sessions.length).toBe(1)
  for (const content of [parts(64), []])
    expect(code(await ask(root, "enqueue", { sessionId: root.sessionId, input: content }))).toBe("ok")
})

test("R164 timeoutMs is an integer from 1 to 30000", async () => {
  const root = setUp()
  for (const timeoutMs of [0, 30_001, 1.5, "5", -1, null] as const)
    await expectNamed(root, "wait_turn", { ...required["wait_turn"], timeoutMs }, "timeoutMs")
})

test("R167 R169 R170 arguments come before the target, the target before the grant, the grant before the role", async () => {
  const root = setUp()
  const nothing = { kind: "finite" as const, allow: [] }
  const spawn = (args: Arguments) => ask(root, "spawn", { agent: "helper", input, ...args }, nothing)
  expect(code(await spawn({ input: "x", agent: "nobody" }))).toBe("invalid_arguments")
  expect(code(await spawn({ agent: "nobody" }))).toBe("target_not_published")
  expect(code(await spawn({}))).toBe("runtime_mcp_denied")
  expect(code(await call(root, "inspect_session", { sessionId: unknownSession }, nothing))).toBe(
    "invalid_arguments",
  )
})

test("R173 a store that takes no write answers admission_unavailable, and the same key succeeds afterwards", async () => {
  const root = setUp()
  const blocker = new Database(at().path)
  blocker.run("create trigger full before insert on receipts begin select raise(abort, 'disk full'); end")
  const request = { agent: "helper", input, idempotencyKey: "same key" }
  const refused = await call(root, "spawn", request)
  expect(refusal(refused)).toStartWith("admission_unavailable: ")
  expect(refusal(refused)).toContain("same idempotencyKey")
  expect(at().receiver.snapshot().sessions.length).toBe(1)
  blocker.run("drop trigger full")
  blocker.close()
  expect(code(await call(root, "spawn", request))).toBe("ok")
  expect(at().receiver.snapshot().sessions.length).toBe(2)
})

test("R173 one admission of a group that cannot be stored does not take the others with it", async () => {
  const root = setUp()
  const blocker = new Database(at().path)
  blocker.run(
    "create trigger one before insert on receipts when new.key = 'bad' begin select raise(abort, 'no'); end",
  )
  const keys = ["a", "bad", "b"]
  const answers = await Promise.all(
    keys.map((key) => call(root, "spawn", { agent: "helper", input, idempotencyKey: key })),
  )
  blocker.close()
  expect(answers.map(code)).toEqual(["ok", "admission_unavailable", "ok"])
  expect(at().receiver.snapshot().sessions.length).toBe(3)
})

test("R173 a receiver that stops ends every wait as temporary", async () => {
  const root = setUp()
  const wait = { sessionId: root.sessionId, turnId: root.turnId, timeoutMs: 30_000 }
  const waiting = call(root, "wait_turn", wait)
  await at().restart()
  expect(code(await waiting)).toBe("admission_unavailable")
})
