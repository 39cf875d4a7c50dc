import { afterEach, expect, test } from "bun:test"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { Epoch } from "@computerd/protocol/ids"
import { Computer, type ComputerOptions } from "./computer.ts"

let computers: Computer[] = []

const newComputer = async (options?: ComputerOptions): Promise<Computer> => {
  const computer = await Computer.create(options)
  computers.push(computer)
  return computer
}

afterEach(async () => {
  const closing = computers
  computers = []
  await Promise.all(closing.map((computer) => computer.close()))
})

/** Alive, and not a zombie that nobody has collected. */
const lives = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}

const pidOf = async (computer: Computer, session: string): Promise<number> => {
  const { sessions } = await computer.untilStatus((status) =>
    status.sessions.some(({ id, pid }) => id === session && pid !== null),
  )
  return sessions.find(({ id }) => id === session)!.pid!
}

test("a supervisor attaches, runs a Session's Turn in its own process, and ends cleanly on SIGTERM", async () => {
  const computer = await newComputer()
  const supervisor = await computer.startAttached()
  const session = computer.assign()
  const results = await computer.turn(session, [{ do: "write", text: "hello" }])
  expect(results).toEqual([null])
  expect((await computer.event("turn_output")).text).toBe("hello")
  const pid = await pidOf(computer, session)
  supervisor.kill("SIGTERM")
  expect(await supervisor.exited).toBe(0)
  expect(lives(pid)).toBe(false)
  expect(existsSync(computer.socketPath)).toBe(false)
  // What it had to tell was told before it let go of the lease.
  expect((await computer.event("process_exited")).expected).toBe(true)
  expect(computer.controlPlane.frames.at(-1)?.kind).toBe("detach")
})

test("SIGINT during a Turn ends the Session's process and reports the Turn with it", async () => {
  const computer = await newComputer()
  const supervisor = await computer.startAttached()
  const session = computer.assign()
  const turnId = computer.dispatch(session, [{ do: "wait_for_cancel" }])
  await computer.event("turn_started")
  const pid = await pidOf(computer, session)
  supervisor.kill("SIGINT")
  expect(await supervisor.exited).toBe(0)
  expect(lives(pid)).toBe(false)
  const told = computer.controlPlane.applied.filter(
    ({ event }) =>
      (event.type === "process_exited" || event.type === "turn_settled") && event.turnId === turnId,
  )
  expect(told.length).toBeGreaterThanOrEqual(1)
})

test("a promise that goes astray is logged and ends the supervisor on purpose, with its processes", async () => {
  const computer = await newComputer()
  const supervisor = await computer.startAttached()
  const session = computer.assign()
  const pid = await pidOf(computer, session)
  supervisor.kill("SIGUSR2")
  expect(await supervisor.exited).toBe(1)
  expect(lives(pid)).toBe(false)
  const entries = (await computer.log())
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { event: string; message?: string })
  expect(entries.find(({ event }) => event === "unhandled_fault")?.message).toContain("astray")
  expect(entries.at(-1)).toMatchObject({ event: "daemon_stopped", failed: [] })
})

test("a supervisor whose lifeline ends stops, and its Session processes with it", async () => {
  const computer = await newComputer()
  const supervisor = await computer.startAttached("--lifeline")
  const session = computer.assign()
  const pid = await pidOf(computer, session)
  await supervisor.stdin.end()
  expect(await supervisor.exited).toBe(0)
  expect(lives(pid)).toBe(false)
})

test("a second supervisor on one state directory refuses and names the first one's pid", async () => {
  const computer = await newComputer()
  const first = await computer.startAttached()
  const second = computer.start()
  expect(await second.exited).toBe(75)
  expect((await computer.status()).pid).toBe(first.pid)
  first.kill("SIGTERM")
  await first.exited
  const refusal = (await computer.log()).split("\n").find((line) => line.startsWith("computerd: "))
  expect(refusal).toContain("already_running")
  expect(refusal).toContain(`pid ${first.pid}`)
})

test("a wrong argument and a bad configuration stop the start with one line and a code each", async () => {
  const computer = await newComputer()
  const run = async (...flags: readonly string[]) => {
    const exitCode = await computer.start(...flags).exited
    return { exitCode, line: (await computer.log()).trim().split("\n").at(-1) }
  }
  const argument = await run("--log-level", "loud")
  expect(argument.exitCode).toBe(2)
  expect(argument.line).toStartWith(
    'computerd: invalid_arguments: logLevel (--log-level): must be one of "debug"',
  )
  expect(await run("--frob")).toMatchObject({
    exitCode: 2,
    line: expect.stringContaining("--frob is not a known flag"),
  })
  await rm(computer.configFile)
  const configuration = await run()
  expect(configuration).toEqual({
    exitCode: 78,
    line: `computerd: invalid_configuration: configuration file ${computer.configFile} does not exist`,
  })
  expect((await computer.log()).trim().split("\n")).toHaveLength(3)
})

test("a supervisor that starts before its control plane attaches once there is one", async () => {
  const computer = await newComputer()
  const port = await computer.controlPlane.down()
  computer.start()
  const waiting = await computer.untilStatus(({ link }) => link.state === "backing_off")
  expect(waiting.link.lastError).toContain("no connection")
  expect(waiting.lease.state).toBe("none")
  computer.controlPlane.up(port)
  const { link } = await computer.untilStatus((status) => status.link.state === "attached")
  expect(link.lastError).toBeNull()
  expect(link.attempts).toBe(0)
})

test("a superseded supervisor ends its Session processes, stays to say why, and never dials again", async () => {
  const computer = await newComputer()
  const supervisor = await computer.startAttached()
  const session = computer.assign()
  const pid = await pidOf(computer, session)
  computer.controlPlane.refuse({ code: "superseded", message: "another supervisor has attached" })
  const { link, lease } = await computer.untilStatus((status) => status.link.state === "refused")
  expect(link.lastError).toContain("superseded")
  expect(lease.state).toBe("none")
  await computer.untilStatus(({ sessions }) => sessions.every((one) => one.pid === null))
  expect(lives(pid)).toBe(false)
  expect(computer.controlPlane.count("attach").length).toBe(1)
  supervisor.kill("SIGTERM")
  expect(await supervisor.exited).toBe(0)
})

test("a control plane that is killed during a Turn hears of its end once, from the Session that lived on", async () => {
  const computer = await newComputer()
  await computer.startAttached()
  const session = computer.assign()
  const turnId = computer.dispatch(session, [{ do: "wait_for_cancel" }])
  await computer.event("turn_started")
  const pid = await pidOf(computer, session)
  const port = await computer.controlPlane.down()
  await computer.untilStatus(({ link }) => link.state === "backing_off")
  computer.controlPlane.command({
    type: "cancel_turn",
    sessionId: session,
    turnId,
    status: "cancelled",
    graceMs: 5_000,
  })
  computer.controlPlane.epoch = Epoch.parse(2)
  computer.controlPlane.up(port)
  const { outcome } = await computer.event("turn_settled", (event) => event.turnId === turnId)
  expect(outcome.status).toBe("cancelled")
  expect(await pidOf(computer, session)).toBe(pid)
  const settlements = computer.controlPlane.applied.filter(({ event }) => event.type === "turn_settled")
  expect(settlements.length).toBe(1)
  expect(computer.controlPlane.count("attach").at(-1)?.processes).toMatchObject([
    { sessionId: session, generation: 1, state: "running", turnId },
  ])
})

test("a supervisor that is killed leaves no lock and no event behind: the next one goes on with its process and Turn", async () => {
  const computer = await newComputer()
  const first = await computer.startAttached()
  const session = computer.assign()
  const file = computer.proofFile()
  const turnId = computer.dispatch(session, [{ do: "wait_for_file", file }])
  await computer.event("turn_started")
  const pid = await pidOf(computer, session)
  first.kill("SIGKILL")
  await first.exited
  const second = await computer.startAttached()
  expect(await pidOf(computer, session)).toBe(pid)
  const attaches = computer.controlPlane.count("attach")
  expect(attaches[1]?.storeId).toBe(attaches[0]!.storeId)
  expect(attaches[1]?.lastEpoch).toBe(1)
  expect(attaches[1]?.processes).toMatchObject([
    { sessionId: session, generation: 1, state: "running", turnId },
  ])
  expect((await computer.status()).pid).toBe(second.pid)
  await Bun.write(file, "")
  expect(await computer.event("turn_settled")).toMatchObject({
    turnId,
    generation: 1,
    outcome: { status: "completed" },
  })
  const seqs = computer.controlPlane.applied.map(({ seq }) => seq)
  expect(seqs).toEqual(seqs.map((_, index) => index + 1))
})

test("a range without a free port is told to the program, and nothing else breaks", async () => {
  // Neighbouring free ports are looked for below the kernel's ephemeral range.
  const neighbours = (): { first: number; last: number } => {
    for (let first = 21_000 + Math.floor(Math.random() * 8_000); ; first += 2) {
      const taken = [first, first + 1].map((port) => {
        try {
          return Bun.listen({ hostname: "127.0.0.1", port, socket: { data: () => undefined } })
        } catch {
          return undefined
        }
      })
      for (const listener of taken) listener?.stop(true)
      if (taken.every((listener) => listener !== undefined)) return { first, last: first + 1 }
    }
  }
  const range = neighbours()
  const computer = await newComputer({ config: { ports: range } })
  await computer.startAttached()
  const session = computer.assign()
  await computer.turn(session, [])
  const occupied = [range.first, range.last].flatMap((port) => {
    try {
      return [Bun.listen({ hostname: "127.0.0.1", port, socket: { data: () => undefined } })]
    } catch {
      return []
    }
  })
  // The Session channel has the other one.
  expect(occupied.length).toBe(1)
  const [refused] = await computer.connect(session, undefined)
  expect(refused).toMatchObject({ ok: false, code: "admission_unavailable" })
  for (const listener of occupied) listener.stop(true)
  const [made] = await computer.connect(session, undefined)
  expect(made?.ok).toBe(true)
})

test("files of the state directory can be opened by their owner alone", async () => {
  const computer = await newComputer()
  await computer.startAttached()
  const session = computer.assign()
  await computer.connect(session, undefined)
  const state = join(computer.directory, "state")
  const { statSync } = await import("node:fs")
  expect(statSync(state).mode & 0o777).toBe(0o700)
  expect(statSync(computer.socketPath).mode & 0o777).toBe(0o600)
  for (const name of readdirSync(state).filter((file) => file.startsWith("store.sqlite")))
    expect(statSync(join(state, name)).mode & 0o777).toBe(0o600)
})
