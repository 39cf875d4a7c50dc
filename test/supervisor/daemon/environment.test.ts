/** What lies about where processes start, and what their starter's environment holds, runs no code in them. */
import { afterEach, expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { bun } from "@computerd/computerd/children"
import { taintOf } from "@computerd/supervisor/config/taint"
import { Computer, type ComputerOptions } from "./computer.ts"

const root = join(import.meta.dir, "../../..")
let made: Computer | undefined
afterEach(async () => {
  await made?.close()
  made = undefined
})

const newComputer = async (options: ComputerOptions): Promise<Computer> => {
  made = await Computer.create(options)
  return made
}

test("variables by which others may run code are named and not shown, in the status and in the log", async () => {
  const computer = await newComputer({ environment: { LD_LIBRARY_PATH: "/nowhere/hunter2" } })
  const supervisor = await computer.startAttached()
  const { degraded } = (await computer.status()).computer
  expect(degraded).toContain(
    "it was started with LD_LIBRARY_PATH, by which others may run code in it; start it without",
  )
  supervisor.kill("SIGTERM")
  expect(await supervisor.exited).toBe(0)
  const log = await computer.log()
  expect(log).toContain('"aspect":"environment"')
  expect(log).not.toContain("hunter2")
})

test("which variables count is a short list, and an empty one does not", () => {
  const environment = { BUN_OPTIONS: "x", NODE_OPTIONS: "", LD_PRELOAD: "y", BUN_INSTALL: "z", PATH: "/bin" }
  expect(taintOf(environment)).toEqual(["BUN_OPTIONS", "LD_PRELOAD"])
})

test("planted configuration of the runtime in workspace and state directory is not read", async () => {
  const computer = await newComputer({
    runtime: bun,
    config: { sessionHost: [...bun, join(root, "session-host/main.ts")] },
  })
  const mark = join(computer.directory, "planted-ran")
  const planted = `require("node:fs").writeFileSync(${JSON.stringify(mark)}, process.argv.join(" "))`
  for (const place of ["", "workspace", "state"].map((name) => join(computer.directory, name))) {
    await mkdir(place, { recursive: true, mode: 0o700 })
    await Bun.write(join(place, "bunfig.toml"), 'preload = ["./planted.cjs"]\n')
    await Bun.write(join(place, "planted.cjs"), planted)
    await Bun.write(join(place, ".env"), "LD_LIBRARY_PATH=/from-a-planted-file\nPLANTED=1\n")
  }
  // It would run where nothing is done against it.
  const victim = Bun.spawn([process.execPath, "-e", "0"], { cwd: join(computer.directory, "workspace") })
  await victim.exited
  expect(existsSync(mark)).toBe(true)
  await Bun.file(mark).delete()

  const supervisor = await computer.startAttached()
  const session = computer.assign()
  await computer.turn(session, [])
  expect(existsSync(mark)).toBe(false)
  expect(JSON.stringify((await computer.status()).computer.degraded ?? [])).not.toContain("LD_LIBRARY_PATH")
  supervisor.kill("SIGTERM")
  expect(await supervisor.exited).toBe(0)
})
