import { expect, test } from "bun:test"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { newMemory } from "../fakes/supervisor-channel.ts"
import { hosts } from "./hosts.ts"
import { contextData, hostMain, program, within } from "./process.ts"

const { start, worker } = hosts()
const quickOrphan = join(import.meta.dir, "../fixtures/session-host/quick-orphan.ts")

const failed = async (source: string, agent?: string) => {
  const host = await start(source, agent === undefined ? {} : { agent })
  host.supervisor.send({ type: "initialize", context: contextData() })
  const frame = await host.supervisor.next("failed")
  return { host, frame, code: await host.exited() }
}

test("a program whose top level throws fails to load, with its message", async () => {
  const { frame, code, host } = await failed(`throw new Error("no database")`)
  expect(frame.phase).toBe("load")
  expect(frame.error).toEqual({
    code: "invalid_program",
    message: "The program could not be loaded: no database",
  })
  expect(code).toBe(1)
  expect(host.supervisor.of("ready")).toEqual([])
})

test("a bundle that is not there fails to load", async () => {
  const host = await start(program("turn: () => null"))
  await rm(join(host.directory, "bundle"), { recursive: true })
  host.supervisor.send({ type: "initialize", context: contextData() })
  expect(await host.supervisor.next("failed")).toMatchObject({ phase: "load" })
  expect(await host.exited()).toBe(1)
})

test("an Agent that the program does not export is named, with those that it does", async () => {
  const { frame } = await failed(program("turn: () => null"), "reviewer")
  expect(frame).toMatchObject({
    phase: "load",
    error: { message: "The program exports no Agent with id reviewer; its Agents: worker." },
  })
})

test("an Agent without a turn function fails to load", async () => {
  const { frame } = await failed(program("turn: undefined as never"))
  expect(frame).toMatchObject({
    phase: "load",
    error: { code: "invalid_program", message: "Agent worker has no turn function." },
  })
})

test("an init that throws fails the process, says so once, and exits when that has arrived", async () => {
  const { frame, code, host } = await failed(
    program(`init: async () => { throw new Error("no token") }, turn: () => null`),
  )
  expect(frame).toEqual({
    type: "failed",
    phase: "init",
    error: { code: "handler_failed", message: "no token" },
  })
  expect(code).toBe(1)
  expect(host.supervisor.memory.applied).toHaveLength(1)
  expect(await host.stderr).toContain("no token")
})

test("a failure that nobody acknowledges still ends the process within a bound", async () => {
  const host = await start(program(`init: () => { throw new Error("no") }, turn: () => null`))
  host.supervisor.acknowledging = false
  host.supervisor.send({ type: "initialize", context: contextData() })
  await host.supervisor.next("failed")
  expect(await host.exited()).toBe(1)
})

test("a failure is kept over a lost connection and arrives on the next one", async () => {
  const host = await start(program(`init: () => { throw new Error("no") }, turn: () => null`))
  host.supervisor.onFrame = (frame) => {
    if (frame.kind === "frame" && host.supervisor.connections === 1) host.supervisor.cut()
  }
  host.supervisor.send({ type: "initialize", context: contextData() })
  expect(await host.exited()).toBe(1)
  expect(host.supervisor.of("failed")).toHaveLength(1)
})

test("an idle process that is asked to end exits with 0", async () => {
  const host = await worker("turn: () => null")
  host.supervisor.send({ type: "shutdown", graceMs: 5_000 })
  expect(await host.exited()).toBe(0)
})

test("a process that is asked to end before it was initialized exits with 0", async () => {
  const host = await start(program("turn: () => null"))
  host.supervisor.send({ type: "shutdown", graceMs: 5_000 })
  expect(await host.exited()).toBe(0)
})

test("shutdown aborts both signals, waits for the handler, and settles its Turn as interrupted", async () => {
  const host = await worker(
    `async turn(turn, ctx) {
      const both = [turn.signal, ctx.signal].map((signal) => new Promise((resolve) => signal.addEventListener("abort", resolve)))
      await turn.output.write("begun")
      await Promise.all(both)
      await Bun.sleep(20)
      await turn.output.write("cleaned up")
      return "half of the work"
    }`,
  )
  const turnId = host.turn()
  const queued = host.turn()
  await host.supervisor.next("turn_output")
  host.supervisor.send({ type: "shutdown", graceMs: 5_000 })
  expect(await host.settled(turnId)).toMatchObject({
    status: "interrupted",
    error: { code: "session_shutdown" },
  })
  expect(await host.exited()).toBe(0)
  expect(host.supervisor.of("turn_output").map((body) => body.text)).toEqual(["begun", "cleaned up"])
  expect(host.supervisor.of("turn_started").map((body) => body.turnId)).not.toContain(queued)
})

test("a handler that ignores shutdown is left behind after the grace, and its Turn is not called settled", async () => {
  const host = await worker(
    `async turn(turn) { await turn.output.write("begun"); await new Promise(() => {}) }`,
  )
  host.turn()
  await host.supervisor.next("turn_output")
  host.supervisor.send({ type: "shutdown", graceMs: 30 })
  expect(await host.exited()).toBe(0)
  expect(host.supervisor.of("turn_settled")).toEqual([])
})

test("shutdown during init waits for it and never says ready", async () => {
  const host = await start(
    program(
      `init: (ctx) => new Promise((_, reject) => {
        console.log("in init")
        ctx.signal.addEventListener("abort", () => { console.log("left init"); reject(ctx.signal.reason) })
        void ctx.mcp.getConnectionOptions().catch(() => {})
      }), turn: () => null`,
    ),
  )
  host.supervisor.send({ type: "initialize", context: contextData() })
  await host.supervisor.next("mcp_connection")
  host.supervisor.send({ type: "shutdown", graceMs: 5_000 })
  expect(await host.exited()).toBe(0)
  expect(await host.stdout).toBe("in init\nleft init\n")
  expect(host.supervisor.memory.applied.map((body) => body.type)).toEqual(["mcp_connection"])
})

test("a rejected process ends itself and says why", async () => {
  const host = await worker("turn: () => null")
  host.supervisor.raw({ kind: "reject", error: { code: "superseded", message: "a newer generation runs" } })
  expect(await host.exited()).toBe(3)
  expect(await host.stderr).toContain("a newer generation runs")
})

test("a process that is rejected as it greets ends itself", async () => {
  const host = await start(program("turn: () => null"), {
    supervisor: {
      welcome: () => ({ kind: "reject", error: { code: "unauthorized", message: "unknown generation" } }),
    },
  })
  expect(await host.exited()).toBe(3)
  expect(await host.stderr).toContain("unknown generation")
})

test("a supervisor of another protocol version is refused with a clear message", async () => {
  const host = await start(program("turn: () => null"), {
    supervisor: { welcome: (received) => ({ kind: "welcome", protocol: 2, received }) },
  })
  expect(await host.exited()).toBe(3)
  expect(await host.stderr).toContain("Session channel 2, this process 1")
})

test("a supervisor that claims frames which were never sent ends the process rather than lose the next ones", async () => {
  const host = await start(program("turn: () => null"), {
    supervisor: { welcome: () => ({ kind: "welcome", protocol: 1, received: 9 }) },
  })
  expect(await host.exited()).toBe(5)
  expect(await host.stderr).toContain("the supervisor has frame 9; 0 were sent")
})

test("a process that hears no supervisor for too long ends itself; until then its Turn goes on", async () => {
  const host = await start(
    program(
      `async turn(turn) { await turn.output.write("begun"); for (let i = 1; i < 1_000; i++) { console.log(i); await Bun.sleep(10) } }`,
    ),
    { main: quickOrphan },
  )
  await host.ready()
  host.turn()
  await host.supervisor.next("turn_output")
  await host.supervisor.close()
  expect(await host.exited()).toBe(4)
  const lines = (await host.stdout).trim().split("\n").length
  expect(lines).toBeGreaterThan(10)
  expect(await host.stderr).toContain("no supervisor was heard for 400 ms")
})

test("a supervisor that is connected and silent is no supervisor", async () => {
  const host = await start(program("turn: () => null"), { main: quickOrphan })
  await host.ready()
  host.supervisor.answering = false
  expect(await host.exited()).toBe(4)
  expect(host.supervisor.frames.some((frame) => frame.kind === "ping")).toBe(true)
  expect(host.supervisor.connections).toBeGreaterThan(1)
})

test("a process that was frozen for longer than that bound lives on", async () => {
  const host = await start(program("turn: () => 1"), { main: quickOrphan })
  await host.ready()
  host.child.kill("SIGSTOP")
  await Bun.sleep(900)
  host.child.kill("SIGCONT")
  expect(await host.run()).toEqual({ status: "completed", result: 1 })
})

test.each([
  ["nothing", ""],
  ["no JSON", "hello\n"],
  ["JSON of another shape", "{}\n"],
  ["a line without an end", "a".repeat(200_000)],
])("standard input without a bootstrap is refused with one clear line: %s", async (_name, input) => {
  const child = Bun.spawn([process.execPath, hostMain], {
    stdin: Buffer.from(input),
    stdout: "pipe",
    stderr: "pipe",
  })
  expect(await within(child.exited, "exit")).toBe(2)
  expect(await new Response(child.stderr).text()).toMatch(
    /^\[session-host\] standard input must begin with one line of JSON/,
  )
  expect(await new Response(child.stdout).text()).toBe("")
})

test("a bootstrap that comes in pieces is read whole, and the rest of standard input does no harm", async () => {
  const host = await start(program("turn: () => 7"), { pieces: true })
  await host.ready()
  expect(await host.run()).toEqual({ status: "completed", result: 7 })
})

test("what the program writes to standard output is left as it is", async () => {
  const host = await worker(
    `turn: () => { console.log("one"); process.stdout.write("two"); console.error("three") }`,
  )
  await host.run()
  host.supervisor.send({ type: "shutdown", graceMs: 1_000 })
  expect(await host.exited()).toBe(0)
  expect(await host.stdout).toBe("one\ntwo")
  expect(await host.stderr).toBe("three\n")
})

test("stray rejections and exceptions are reported with their stack, fail no Turn and end no process", async () => {
  const host = await worker(
    `async turn(turn) {
      void Promise.reject(new Error("nobody awaits this"))
      setTimeout(() => { throw new Error("thrown in a timer") }, 1)
      turn.signal.addEventListener("abort", () => { throw new Error("thrown in a listener") })
      await Bun.sleep(30)
      return "settled"
    }`,
  )
  expect(await host.run()).toEqual({ status: "completed", result: "settled" })
  expect(await host.run()).toEqual({ status: "completed", result: "settled" })
  host.supervisor.send({ type: "shutdown", graceMs: 1_000 })
  expect(await host.exited()).toBe(0)
  const stderr = await host.stderr
  expect(stderr).toContain("[session-host] a promise that nobody awaited failed: ")
  expect(stderr).toContain("nobody awaits this")
  expect(stderr).toContain("[session-host] code outside of any handler failed: ")
  expect(stderr).toContain("thrown in a timer")
  expect(stderr).toContain("index.js:")
})

test("an exception in an abort listener does not keep the other listeners from running", async () => {
  const host = await worker(
    `async turn(turn) {
      turn.signal.addEventListener("abort", () => { throw new Error("first") })
      const second = new Promise<void>((resolve) => turn.signal.addEventListener("abort", () => resolve()))
      await turn.output.write("begun")
      await second
    }`,
  )
  const turnId = host.turn()
  await host.supervisor.next("turn_output")
  host.supervisor.send({ type: "cancel_turn", turnId, status: "cancelled" })
  expect((await host.settled(turnId)).status).toBe("cancelled")
})

test("a program that ends its own process is gone with its own exit code", async () => {
  const host = await worker(`turn: () => process.exit(42)`)
  host.turn()
  expect(await host.exited()).toBe(42)
})

test("a program that replaces process.exit cannot keep the process alive", async () => {
  const host = await worker(
    "turn: () => null",
    `process.exit = (() => {}) as never; setInterval(() => {}, 1_000)`,
  )
  host.supervisor.send({ type: "shutdown", graceMs: 1_000 })
  expect(await host.exited()).toBe(0)
})

test("a program that replaces global timers, sockets and the console does not touch the host", async () => {
  const host = await worker(
    `turn: (turn) => turn.sequence`,
    `const broken = () => { throw new Error("replaced") }
     Object.assign(globalThis, { setTimeout: broken, clearTimeout: broken, setInterval: broken, WebSocket: broken })
     Object.assign(console, { error: broken })
     Object.assign(Object.prototype, { surplus: 1 })
     Math.random = broken`,
  )
  expect(await host.run("", { sequence: 1 })).toEqual({ status: "completed", result: 1 })
  host.supervisor.cut()
  expect(await host.run("", { sequence: 2 })).toEqual({ status: "completed", result: 2 })
  host.supervisor.raw("nonsense")
  host.supervisor.send({ type: "shutdown", graceMs: 1_000 })
  expect(await host.exited()).toBe(0)
  expect(await host.stderr).toContain("refused a frame")
})

test("nobody reading its standard output or error is no reason for a process to die", async () => {
  const host = await start(
    program(
      `async turn(turn) { for (let i = 0; i < 200; i++) { console.log("x".repeat(1_000)); console.error("y".repeat(1_000)) } return turn.sequence }`,
    ),
    { output: "closed" },
  )
  await host.ready()
  expect(await host.run("", { sequence: 1 })).toEqual({ status: "completed", result: 1 })
  expect(await host.run("", { sequence: 2 })).toEqual({ status: "completed", result: 2 })
})

test("a supervisor that has forgotten frames which it acknowledged ends the process", async () => {
  const host = await worker("turn: () => null")
  await host.run()
  await host.supervisor.until(() => host.supervisor.memory.outbound.size() === 0, "all acknowledged")
  const fresh = await host.restartSupervisor(newMemory())
  try {
    expect(await host.exited()).toBe(5)
    expect(await host.stderr).toContain("the supervisor has frame 0; 3 were sent and 3 acknowledged")
    expect(fresh.memory.applied).toEqual([])
  } finally {
    await fresh.close()
  }
})
