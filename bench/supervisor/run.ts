/**
 * The supervisor against bare Bun, in one run: memory with no and with many Sessions, the time from an assignment to
 * a ready Session process, and from its death to the control plane knowing it. The control plane is the fake one of the
 * tests; the link, the store, the session host and the processes are real.
 *
 *   bun supervisor/run.ts [sessions] [rounds]
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { buildSessionHost } from "../../session-host/build.ts"
import { Computer } from "../../test/supervisor/daemon/computer.ts"

const sessions = Number(process.argv[2] ?? 50)
const rounds = Number(process.argv[3] ?? 30)
const settleMs = 3000

interface Memory {
  /** As `ps` shows it. */
  readonly resident: number
  /** What the process alone costs: shared pages are divided among those who share them. */
  readonly proportional: number
}

const memoryOf = (pid: number): Memory => {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8")
  const miB = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(rollup)?.[1] ?? 0) / 1024
  return { resident: miB("Rss"), proportional: miB("Pss") }
}

const shown = ({ resident, proportional }: Memory): string =>
  `${resident.toFixed(1)} (${proportional.toFixed(1)})`

const median = (times: readonly number[]): number =>
  times.toSorted((one, two) => one - two)[times.length >> 1] ?? 0

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const started = Bun.nanoseconds()
  await work()
  return (Bun.nanoseconds() - started) / 1e6
}

/** Spawn to connected of the least possible process. */
const bareStart = async (): Promise<number> => {
  const connected = Promise.withResolvers<void>()
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request, upgrading) =>
      upgrading.upgrade(request) ? undefined : new Response(null, { status: 400 }),
    websocket: { message: () => connected.resolve() },
  })
  let child: Bun.Subprocess | undefined
  const took = await timed(async () => {
    child = Bun.spawn([process.execPath, join(import.meta.dir, "bare.ts"), `ws://127.0.0.1:${server.port}`])
    await connected.promise
  })
  child?.kill("SIGKILL")
  await child?.exited
  await server.stop(true)
  return took
}

const bareMemory = async (): Promise<Memory> => {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "idle.ts")], { stdout: "pipe" })
  await child.stdout.getReader().read()
  await Bun.sleep(settleMs)
  const memory = memoryOf(child.pid)
  child.kill("SIGKILL")
  await child.exited
  return memory
}

const computer = await Computer.create({ config: { logLevel: "error" } })
const host = await buildSessionHost(computer.directory)
const file = await Bun.file(computer.configFile).json()
await Bun.write(computer.configFile, JSON.stringify({ ...file, sessionHost: [process.execPath, host] }))

try {
  const supervisor = await computer.startAttached()
  const { controlPlane } = computer
  const count = (type: string): number =>
    controlPlane.applied.filter(({ event }) => event.type === type).length
  const reported = (type: string, before: number) =>
    controlPlane.until(() => count(type) > before, type, 30_000)

  /** A new Session from its assignment to its readiness, and from a kill to the news of it. */
  const oneLife = async (): Promise<{ readonly start: number; readonly loss: number }> => {
    const assignment = computer.assignment()
    const ready = count("process_ready")
    const start = await timed(async () => {
      controlPlane.command({ type: "assign", assignment })
      await reported("process_ready", ready)
    })
    const status = await computer.status()
    const pid = status.sessions.find(({ id }) => id === assignment.sessionId)?.pid ?? 0
    const exited = count("process_exited")
    const loss = await timed(async () => {
      process.kill(pid, "SIGKILL")
      await reported("process_exited", exited)
    })
    const released = count("released")
    controlPlane.command({ type: "release", sessionId: assignment.sessionId, graceMs: 1000 })
    await reported("released", released)
    return { start, loss }
  }

  await oneLife()
  await Bun.sleep(settleMs)
  const [bare, idle] = [await bareMemory(), memoryOf(supervisor.pid)]

  const crowd = Array.from({ length: sessions }, () => computer.assignment())
  const ready = count("process_ready")
  const filled = await timed(async () => {
    for (const assignment of crowd) controlPlane.command({ type: "assign", assignment })
    await controlPlane.until(
      () => count("process_ready") === ready + sessions,
      "every Session ready",
      120_000,
    )
  })
  await Bun.sleep(settleMs)
  const full = memoryOf(supervisor.pid)
  const released = count("released")
  for (const { sessionId } of crowd) controlPlane.command({ type: "release", sessionId, graceMs: 1000 })
  await controlPlane.until(() => count("released") === released + sessions, "every Session released", 120_000)

  const bareTimes: number[] = []
  const lives: { readonly start: number; readonly loss: number }[] = []
  for (let round = 0; round < rounds; round += 1) {
    bareTimes.push(await bareStart())
    lives.push(await oneLife())
  }

  const [bareMs, startMs] = [median(bareTimes), median(lives.map(({ start }) => start))]
  console.table({
    "memory in MiB, resident (proportional)": "",
    "bare Bun with a listener": shown(bare),
    "supervisor without Sessions": shown(idle),
    [`supervisor with ${sessions} Sessions`]: shown(full),
    "ratio to bare, without Sessions": (idle.resident / bare.resident).toFixed(2),
    "time in ms": "",
    "bare Bun, spawn to connected": bareMs.toFixed(1),
    "Session, assignment to ready": startMs.toFixed(1),
    "ratio to bare": (startMs / bareMs).toFixed(2),
    "kill of a Session process to the control plane": median(lives.map(({ loss }) => loss)).toFixed(1),
    [`${sessions} Sessions, assigned at once, to all ready`]: filled.toFixed(0),
  })
} finally {
  await computer.close()
}
