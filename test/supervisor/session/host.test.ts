/** The real session host, started by the supervisor, with a program as an author writes it. */
import { afterEach, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fail, ok } from "@computerd/protocol/errors"
import type { SessionAssignment } from "@computerd/protocol/link"
import { createWorld, temporaryDirectory, type World, type WorldOptions } from "../harness.ts"

const host = [process.execPath, Bun.resolveSync("@computerd/session-host/main", import.meta.dir)]

const program = `
const brand = Symbol.for("helmr.definition")
const define = (id, parts) => ({ [brand]: "agent", id, template: {}, ...parts })
export const talker = define("talker", {
  async init(ctx) { return { connection: await ctx.mcp.getConnectionOptions(), recovery: ctx.recovery.kind } },
  async turn(turn, ctx) {
    turn.output.write("working")
    turn.respond([{ type: "text", text: "done" }])
    return { input: turn.input[0].text, ...ctx.initResult, computer: ctx.computer.id, cwd: process.cwd() }
  },
})
export const thrower = define("thrower", { init() { throw new Error("no model key") }, turn() {} })
export const refused = define("refused", {
  async turn(turn, ctx) { return await ctx.mcp.getConnectionOptions({ bad: 1 }).catch((error) => error.code) },
})
export const waiter = define("waiter", {
  turn: (turn) => new Promise((resolve, reject) => turn.signal.addEventListener("abort", () => reject(turn.signal.reason))),
})
`

let world: World
afterEach(() => world.close())

const start = async (agent: string, options: WorldOptions = {}): Promise<SessionAssignment> => {
  const directory = temporaryDirectory()
  const bundle = join(directory, "program.js")
  writeFileSync(bundle, program)
  world = await createWorld({
    directory,
    sessionHost: host,
    bundles: { path: () => Promise.resolve(ok(bundle)) },
    ...options,
  })
  const assignment = world.assignment(agent)
  world.apply({ type: "assign", assignment })
  return assignment
}

test("a program's init and Turn run in its workspace, with connection, output, response and result", async () => {
  const { sessionId } = await start("talker")
  world.apply(world.dispatch(sessionId, "hello"))
  expect(await world.event("turn_settled")).toMatchObject({
    outcome: {
      status: "completed",
      response: [{ type: "text", text: "done" }],
      result: {
        input: "hello",
        recovery: "initial",
        computer: world.config.computerId,
        cwd: world.workspace,
        connection: { url: "http://127.0.0.1:1/mcp", headers: { Authorization: "Bearer t" } },
      },
    },
  })
  expect(world.events.find((event) => event.type === "turn_output")).toMatchObject({ text: "working" })
})

test("an init that throws and an Agent that the bundle lacks are reasons in the author's words", async () => {
  await start("thrower")
  expect((await world.event("process_exited")).reason).toMatchObject({
    kind: "init_failed",
    message: expect.stringContaining("no model key"),
  })
  const missing = world.assignment("missing")
  world.apply({ type: "assign", assignment: missing })
  const exit = await world.event("process_exited", (event) => event.sessionId === missing.sessionId)
  expect(exit.reason).toMatchObject({ kind: "load_failed", message: expect.stringContaining("missing") })
})

test("a refused getter call reaches the program with its code, and the policy reached the supervisor", async () => {
  const asked: unknown[] = []
  const { sessionId } = await start("refused", {
    connect: (_process, policy) => {
      asked.push(policy)
      return Promise.resolve(fail("invalid_runtime_mcp_policy", "bad is not a known field", "bad"))
    },
  })
  world.apply(world.dispatch(sessionId, "hello"))
  expect(await world.event("turn_settled")).toMatchObject({
    outcome: { status: "completed", result: "invalid_runtime_mcp_policy" },
  })
  expect(asked).toEqual([{ given: true, value: { bad: 1 } }])
})

test("a handler that watches its signal is interrupted, and a release lets it go within the grace", async () => {
  const { sessionId } = await start("waiter")
  const command = world.dispatch(sessionId, "wait")
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
  world.apply({ type: "release", sessionId, graceMs: 5000 })
  expect(await world.event("process_exited")).toMatchObject({ reason: { kind: "shutdown" }, expected: true })
  await world.event("released")
  expect(world.entries.some((entry) => entry.event === "tree_killed")).toBe(false)
})
