/** The end of a supervisor is enforced from outside: nothing that it does or fails to do makes it take longer. */
import { afterEach, beforeEach, expect, test } from "bun:test"
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { computerDirectory } from "@computerd/control-plane/drivers/local/directory"
import { endSupervisor } from "@computerd/control-plane/drivers/local/end"
import { adoptSupervisor, spawnSupervisor } from "@computerd/control-plane/drivers/local/supervisor"
import { alive } from "./rig.ts"

/** The bounds of an end pass this much faster. */
const faster = 50
const ports = {
  after: (delayMs: number, run: () => void) => {
    const timer = setTimeout(run, delayMs / faster)
    return () => clearTimeout(timer)
  },
}

let directory: string
const notes: string[] = []
const deps = { ports, note: (action: string, detail: string) => notes.push(`${action}: ${detail}`) }
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "end-"))
  notes.length = 0
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const started = async (program: string) => {
  const place = computerDirectory(directory, "cmp_1")
  await mkdir(place.root, { recursive: true })
  const script = join(directory, "program.ts")
  await Bun.write(script, `${program}; setInterval(() => undefined, 60_000); console.log("up")`)
  const supervisor = await spawnSupervisor({
    command: [process.execPath, script],
    directory: place,
    environment: {},
    lifeline: false,
  })
  while (!(await Bun.file(place.log).text()).includes("up")) await Bun.sleep(5)
  return supervisor
}

const programs = [
  ["whose event loop hangs at SIGTERM", 'process.on("SIGTERM", () => { for (;;); })'],
  ["that ignores SIGTERM", 'process.on("SIGTERM", () => undefined)'],
] as const

test.each(programs)("a supervisor %s is killed once its time is over", async (_, program) => {
  const supervisor = await started(program)
  expect(await endSupervisor(supervisor, deps)).toEqual([])
  expect(notes).toEqual(["killed: supervisor did not stop within 15 s"])
  expect(await supervisor.ended).toContain("SIGKILL")
})

test("a supervisor that is stopped by a signal is killed once its time is over, also one that was taken over", async () => {
  const { identity, ended } = await started("")
  process.kill(identity.pid, "SIGSTOP")
  // Of two signals under way the kernel delivers the one with the lower number first.
  while (!(await readFile(`/proc/${identity.pid}/status`, "utf8")).includes("State:\tT")) await Bun.sleep(1)
  expect(await endSupervisor(adoptSupervisor(identity, ports), deps)).toEqual([])
  expect(notes).toHaveLength(1)
  expect(await alive(identity.pid)).toBe(false)
  await ended
})

test("a supervisor that ends by itself is not killed", async () => {
  const supervisor = await started('process.on("SIGTERM", () => process.exit(0))')
  expect(await endSupervisor(supervisor, { ...deps, ports: { after: () => () => undefined } })).toEqual([])
  expect(notes).toEqual([])
})
