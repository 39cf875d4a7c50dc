/** A lease lapses while real Session processes work: they stand still until the next grant, or end where they stand. */
import { afterEach, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { failure } from "@computerd/protocol/errors"
import { Epoch, type SessionId, type TurnId } from "@computerd/protocol/ids"
import type { LinkEvent } from "@computerd/protocol/link"
import type { Status } from "@computerd/protocol/operator"
import { isGroupFrozen } from "@computerd/supervisor/process/freeze"
import { isSuspended, readStat } from "@computerd/supervisor/process/procfs"
import { settled } from "../harness.ts"
import { Computer } from "./computer.ts"

let computer: Computer
afterEach(() => computer.close())

/** Short enough for a test, and long enough for a busy machine to renew it. */
const fake = { leaseMs: 1_500, renewMs: 200 }

interface Working {
  readonly sessionId: SessionId
  readonly turnId: TurnId
  readonly pid: number
  /** The program counts in it while it runs. */
  readonly counter: string
  readonly until: string
  readonly connection: unknown
}

/** A Session whose Turn asks for its headers and then counts, until a file is there. */
const work = async (): Promise<Working> => {
  const [counter, until, connection] = [computer.proofFile(), computer.proofFile(), computer.proofFile()]
  const sessionId = computer.assign()
  const turnId = computer.dispatch(sessionId, [
    { do: "connect", file: connection },
    { do: "tick", file: counter, until },
  ])
  await settled(() => countOf(counter) > 3, "counting")
  const pid = (await computer.status()).sessions.find(({ id }) => id === sessionId)?.pid
  if (typeof pid !== "number") throw new Error("the Session has no process")
  return { sessionId, turnId, pid, counter, until, connection: JSON.parse(readFileSync(connection, "utf8")) }
}

const countOf = (file: string): number => {
  try {
    return Number(readFileSync(file, "utf8"))
  } catch {
    return 0
  }
}

const isHalted = (pid: number): boolean => {
  const group = readFileSync(`/proc/${pid}/cgroup`, "utf8")
    .split("\n")
    .find((line) => line.startsWith("0::"))
  const paths = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(
    (mount) => `${mount}${group?.slice(3) ?? ""}`,
  )
  return isSuspended(pid) || paths.some(isGroupFrozen)
}

const isFrozen = ({ computer: { frozenSince } }: Status): boolean => frozenSince !== undefined

/** The control plane falls silent: no renewal and no attach is answered. */
const fallSilent = (): void => {
  const { hooks } = computer.controlPlane
  hooks.renew = () => "handled"
  hooks.attach = () => "handled"
  computer.controlPlane.cut()
}

const speakAgain = (): void => {
  const { hooks } = computer.controlPlane
  hooks.renew = undefined
  hooks.attach = undefined
  computer.controlPlane.cut()
}

const expectStandstill = async ({ counter, pid }: Working): Promise<void> => {
  await settled(() => isHalted(pid), "the process stands still")
  const before = countOf(counter)
  await Bun.sleep(200)
  expect(countOf(counter)).toBe(before)
}

const exits = (): readonly LinkEvent[] =>
  computer.controlPlane.applied.map(({ event }) => event).filter(({ type }) => type === "process_exited")

/** Lets the Turn end, and sees that it is the one that began, in the same process. */
const expectSameLineage = async (working: Working): Promise<void> => {
  const before = countOf(working.counter)
  await settled(() => countOf(working.counter) > before, "counting goes on")
  const status = (await computer.status()).sessions.find(({ id }) => id === working.sessionId)
  expect(status).toMatchObject({ pid: working.pid, generation: 1, state: "running", turnId: working.turnId })
  await Bun.write(working.until, "")
  const { outcome, generation } = await computer.event(
    "turn_settled",
    ({ turnId }) => turnId === working.turnId,
  )
  expect({ status: outcome.status, generation: Number(generation) }).toEqual({
    status: "completed",
    generation: 1,
  })
  const [again] = await computer.connect(working.sessionId, undefined)
  expect<unknown>(again).toEqual(working.connection)
  expect(exits()).toEqual([])
}

test("L1 a lapsed lease freezes every Session process, and a renewal thaws the same ones", async () => {
  computer = await Computer.create({ fake })
  await computer.startAttached()
  const working = await work()
  fallSilent()
  await computer.untilStatus(isFrozen)
  await expectStandstill(working)
  speakAgain()
  await computer.untilStatus((status) => !isFrozen(status))
  await expectSameLineage(working)
})

test("a control plane that is back within the lease freezes nobody", async () => {
  computer = await Computer.create({ fake: { leaseMs: 20_000, renewMs: 200 } })
  const supervisor = await computer.startAttached()
  const working = await work()
  const port = await computer.controlPlane.down()
  await Bun.sleep(1_000)
  computer.controlPlane.up(port)
  await computer.untilStatus(({ link }) => link.state === "attached")
  await expectSameLineage(working)
  supervisor.kill("SIGTERM")
  await supervisor.exited
  expect(await computer.log()).not.toContain('"event":"sessions_frozen"')
})

test("SF1 a supervisor that is killed while everything is frozen leaves it frozen, and its successor's lease thaws it", async () => {
  computer = await Computer.create({ fake })
  const supervisor = await computer.startAttached()
  const working = await work()
  fallSilent()
  await computer.untilStatus(isFrozen)
  await expectStandstill(working)
  supervisor.kill("SIGKILL")
  await supervisor.exited
  computer.start()
  await computer.untilStatus(isFrozen)
  await expectStandstill(working)
  speakAgain()
  await computer.untilStatus(
    ({ link, ...status }) => link.state === "attached" && !isFrozen({ link, ...status }),
  )
  await expectSameLineage(working)
})

test("L3 a successor that nobody answers freezes what it inherited when the old lease has ended", async () => {
  computer = await Computer.create({ fake })
  const supervisor = await computer.startAttached()
  const working = await work()
  supervisor.kill("SIGKILL")
  await supervisor.exited
  fallSilent()
  computer.start()
  await computer.untilStatus(isFrozen)
  await expectStandstill(working)
  speakAgain()
  await expectSameLineage(working)
})

test("SF4 whoever is superseded while frozen ends its processes where they stand: nothing of them runs again", async () => {
  computer = await Computer.create({ fake })
  const supervisor = await computer.startAttached()
  const working = await work()
  fallSilent()
  await computer.untilStatus(isFrozen)
  await expectStandstill(working)
  const before = countOf(working.counter)
  computer.controlPlane.hooks.attach = (_, connection) => {
    connection.send({ kind: "refuse", error: failure("superseded", "another supervisor owns this Computer") })
    return "handled"
  }
  computer.controlPlane.cut()
  await settled(() => readStat(working.pid) === undefined || readStat(working.pid)?.state === "Z", "the end")
  expect(countOf(working.counter)).toBe(before)
  supervisor.kill("SIGTERM")
  await supervisor.exited
  const log = await computer.log()
  expect(log).not.toContain('"event":"sessions_thawed"')
  expect(log).toContain('"event":"sessions_ended","failed":[]')
})

test("whoever is superseded while it works stops at once, without a grace for its processes", async () => {
  computer = await Computer.create({ fake: { leaseMs: 20_000, renewMs: 5_000 } })
  await computer.startAttached()
  const working = await work()
  computer.controlPlane.epoch = Epoch.parse(2)
  computer.controlPlane.refuse(failure("superseded", "another supervisor owns this Computer"))
  const refusedAt = performance.now()
  await settled(() => readStat(working.pid) === undefined || readStat(working.pid)?.state === "Z", "the end")
  expect(performance.now() - refusedAt).toBeLessThan(8_000)
  await computer.untilStatus(({ link }) => link.state === "refused")
})

test("a supervisor that is told to stop while everything is frozen kills what it has, within its time", async () => {
  computer = await Computer.create({ fake })
  const supervisor = await computer.startAttached()
  const working = await work()
  fallSilent()
  await computer.untilStatus(isFrozen)
  await expectStandstill(working)
  const before = countOf(working.counter)
  supervisor.kill("SIGTERM")
  expect(await supervisor.exited).toBe(0)
  expect(readStat(working.pid)).toBeUndefined()
  expect(countOf(working.counter)).toBe(before)
})

test("a supervisor that was stopped says so, and asks for its lease at once to see whether the link still lives", async () => {
  computer = await Computer.create({ fake: { leaseMs: 60_000, renewMs: 60_000 } })
  const supervisor = await computer.startAttached()
  expect(computer.controlPlane.count("renew")).toEqual([])
  supervisor.kill("SIGSTOP")
  await Bun.sleep(1_500)
  supervisor.kill("SIGCONT")
  await computer.controlPlane.until(() => computer.controlPlane.count("renew").length === 1, "a probe")
  supervisor.kill("SIGTERM")
  await supervisor.exited
  const log = await computer.log()
  expect(log.split('"event":"resumed_after_pause"').length).toBe(2)
  expect(log).not.toContain('"event":"timers_dead"')
})
