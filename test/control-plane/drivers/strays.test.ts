/** Whoever is left behind on a Computer is found and ended: late looks, processes between two programs, forks of a supervisor. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test"
import { removeForGood } from "@computerd/control-plane/drivers/local/removal"
import { hasNoEnvironment, shownOf } from "@computerd/control-plane/drivers/local/shown"
import { endStrays } from "@computerd/control-plane/drivers/local/strays"
import { idSource } from "@computerd/protocol/ids"
import { alive, until } from "./rig.ts"

setDefaultTimeout(40_000)

const newId = idSource(() => Bun.randomUUIDv7())
const fresh = () => {
  const id = newId("cmp")
  return { id, configuration: `/computers/${id}/supervisor.json` }
}
const after = (delayMs: number, run: () => void) => {
  const timer = setTimeout(run, delayMs)
  return () => clearTimeout(timer)
}
const ports = { runningMs: () => performance.now(), after }

const started: ReturnType<typeof Bun.spawn>[] = []
afterEach(async () => {
  for (const child of started.splice(0)) {
    child.kill("SIGKILL")
    await child.exited
  }
})

const run = async (environment: Record<string, string>, ...command: readonly string[]) => {
  const child = Bun.spawn([...command], { env: environment, stdio: ["ignore", "ignore", "ignore"] })
  started.push(child)
  await until("its command line", async () =>
    (await shownOf(child.pid)).words.length > 0 ? true : undefined,
  )
  return child.pid
}

const sleeper = (environment: Record<string, string>, ...words: readonly string[]) =>
  run(environment, "/bin/sh", "-c", "sleep 600; :", "sh", ...words)

test("SE1 what a look finds is killed even when that look alone took longer than all may", async () => {
  const whose = fresh()
  const pid = await sleeper({ HELMR_COMPUTER_ID: whose.id })
  let now = 0
  const late = {
    after,
    runningMs: () => {
      now += 60_000
      return now
    },
  }
  expect(await endStrays(whose, late)).toEqual([])
  expect(await alive(pid)).toBe(false)
})

test("what was started with the Computer's configuration is ended, and nobody who only speaks of it", async () => {
  const whose = fresh()
  const forked = await sleeper({}, "run", "--config", whose.configuration)
  const others = [
    await sleeper({}, whose.configuration),
    await sleeper({}, "run", "--config", whose.configuration, "more"),
    await sleeper({ HELMR_COMPUTER_ID: fresh().id }),
    await sleeper({ OTHER: `HELMR_COMPUTER_ID=${whose.id}` }),
  ]
  expect(await endStrays(whose, ports)).toEqual([])
  expect(await alive(forked)).toBe(false)
  expect(await Promise.all(others.map(alive))).toEqual([true, true, true, true])
})

const looksAtExec = 20_000

test("SE2 a process that goes from program to program shows its environment or that it is between two", async () => {
  const again = 'exec "$0" -c "$1" "$0" "$1"'
  const pid = await run({ MARK: "1" }, "/bin/sh", "-c", again, "/bin/sh", again)
  let between = 0
  for (let look = 0; look < looksAtExec; look += 1) {
    const { environment } = await shownOf(pid)
    if (environment === "pending") between += 1
    else expect(environment).toContain("MARK=1")
  }
  expect(between).toBeGreaterThan(0)
})

/** A line of `/proc/<pid>/stat`; of the fields, those that are looked at. */
const statOf = (given: {
  state?: string
  flags?: number
  data?: string
  start: string
  end: string
}): string => {
  const fields = Array.from({ length: 50 }, () => "0")
  fields[0] = given.state ?? "S"
  fields[6] = String(given.flags ?? 4_194_304)
  fields[43] = given.data ?? "94163141984768"
  fields[47] = given.start
  fields[48] = given.end
  return `42 (a) b) ${fields.join(" ")}`
}

test("SE2 only the dead, the kernel's own and those started without variables have no environment to come", () => {
  const lines = [
    ["between two programs", statOf({ data: "0", start: "0", end: "0" }), false],
    ["nearly through", statOf({ data: "0", start: "140720545689581", end: "140720545689581" }), false],
    ["just through with it", statOf({ start: "140720545689568", end: "140720545689581" }), false],
    ["started without variables", statOf({ start: "140720545689581", end: "140720545689581" }), true],
    ["a zombie", statOf({ state: "Z", data: "0", start: "0", end: "0" }), true],
    ["a thread of the kernel", statOf({ flags: 2_129_984, data: "0", start: "0", end: "0" }), true],
    ["gone", "", true],
  ] as const
  expect(lines.map(([what, line]) => [what, hasNoEnvironment(line)])).toEqual(
    lines.map(([what, , none]) => [what, none]),
  )
})

test("a removal is tried until nothing is left, and given up when its driver closes", async () => {
  const outcomes: (() => Promise<readonly string[]>)[] = [
    async () => ["process 7 lives on"],
    async () => Promise.reject(new Error("EBUSY")),
    async () => [],
  ]
  const notes: string[] = []
  const waits: number[] = []
  const soon = (delayMs: number, go: () => void) => {
    waits.push(delayMs)
    return after(0, go)
  }
  const removal = {
    remove: () => outcomes.shift()!(),
    note: (failure: string) => notes.push(failure),
    signal: new AbortController().signal,
    ports: { after: soon },
  }
  expect(await removeForGood(removal)).toBe("removed")
  expect([notes, waits, outcomes.length]).toEqual([["process 7 lives on", "EBUSY"], [500, 1_000], 0])

  const closing = new AbortController()
  const remove = async () => {
    closing.abort()
    return ["process 7 lives on"]
  }
  expect(await removeForGood({ ...removal, remove, signal: closing.signal })).toBe("interrupted")
  expect(waits).toHaveLength(2)
})
