/**
 * How fast what was killed is back, in one run with bare Bun beside it: a Session process, from SIGKILL to its
 * replacement on record and ready; the supervisor, from SIGKILL to the first MCP request that the next one serves, with
 * one living Session and with many. The control plane is the fake one of the tests; everything else is real.
 *
 *   bun lifecycle/run.ts [rounds] [sessions…]
 */
import { join } from "node:path"
import { SessionId } from "../../protocol/ids.ts"
import { buildSessionHost } from "../../session-host/build.ts"
import { Computer, type Connected } from "../../test/supervisor/daemon/computer.ts"

const [rounds = 20, ...crowds] = process.argv.slice(2).map(Number)
const sizes = crowds.length === 0 ? [1, 100] : crowds
const waitMs = 120_000

const median = (times: readonly number[]): number =>
  times.toSorted((one, two) => one - two)[times.length >> 1] ?? 0
const worst = (times: readonly number[]): number => Math.max(...times)

const now = (): number => Bun.nanoseconds() / 1e6

/** Spawn to the return of the spawn, and to a WebSocket of the child. */
const bareStart = async (): Promise<{ readonly spawned: number; readonly connected: number }> => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request, upgrading) =>
      upgrading.upgrade(request) ? undefined : new Response(null, { status: 400 }),
    websocket: { message: () => resolve() },
  })
  const program = join(import.meta.dir, "../supervisor/bare.ts")
  const started = now()
  const child = Bun.spawn([process.execPath, program, `ws://127.0.0.1:${server.port}`])
  const spawned = now() - started
  await promise
  const connected = now() - started
  child.kill("SIGKILL")
  await child.exited
  await server.stop(true)
  return { spawned, connected }
}

const newComputer = async (): Promise<Computer> => {
  const computer = await Computer.create({ config: { logLevel: "error" } })
  const host = await buildSessionHost(computer.directory)
  const file = await Bun.file(computer.configFile).json()
  await Bun.write(computer.configFile, JSON.stringify({ ...file, sessionHost: [process.execPath, host] }))
  return computer
}

const heard = async (
  computer: Computer,
  type: string,
  session: string,
  generation: number,
): Promise<void> => {
  const { controlPlane } = computer
  await controlPlane.until(
    () =>
      controlPlane.applied.some(
        ({ event }) =>
          event.type === type &&
          event.sessionId === session &&
          "generation" in event &&
          event.generation === generation,
      ),
    `${type} ${generation}`,
    waitMs,
  )
}

const replacements = async () => {
  const computer = await newComputer()
  const times: { readonly starting: number; readonly ready: number }[] = []
  const bare: { readonly spawned: number; readonly connected: number }[] = []
  try {
    await computer.startAttached()
    for (let round = 0; round < rounds; round += 1) {
      const session = computer.assign()
      await heard(computer, "process_ready", session, 1)
      const pid = (await computer.status()).sessions.find(({ id }) => id === session)?.pid ?? 0
      bare.push(await bareStart())
      const started = now()
      process.kill(pid, "SIGKILL")
      await heard(computer, "process_starting", session, 2)
      const starting = now() - started
      await heard(computer, "process_ready", session, 2)
      times.push({ starting, ready: now() - started })
      computer.controlPlane.command({ type: "release", sessionId: session, graceMs: 1000 })
    }
  } finally {
    await computer.close()
  }
  return { times, bare }
}

const serves = async ({
  url,
  headers,
}: {
  readonly url: string
  readonly headers: object
}): Promise<boolean> => {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        ...headers,
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
      },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      keepalive: false,
    })
    await response.text()
    return response.status === 200
  } catch {
    return false
  }
}

const connectionOf = (answer: Connected | undefined) => {
  if (answer?.ok !== true) throw new Error(`no connection was given: ${JSON.stringify(answer)}`)
  return answer.value
}

const reattachments = async (sessions: number): Promise<readonly number[]> => {
  const computer = await newComputer()
  const times: number[] = []
  try {
    let supervisor = await computer.startAttached()
    const all = Array.from({ length: sessions }, () => computer.assign())
    for (const session of all) await heard(computer, "process_ready", session, 1)
    const [answer] = await computer.connect(SessionId.parse(all[0]), undefined)
    const connection = connectionOf(answer)
    for (let round = 0; round < Math.min(rounds, 10); round += 1) {
      const started = now()
      supervisor.kill("SIGKILL")
      await supervisor.exited
      supervisor = computer.start()
      while (!(await serves(connection)))
        if (now() - started > waitMs) throw new Error("it never served again")
      times.push(now() - started)
      await computer.untilStatus(({ link }) => link.state === "attached")
    }
    const status = await computer.status()
    const kept = status.sessions.filter(
      ({ generation, state }) => generation === 1 && state === "ready",
    ).length
    if (kept !== sessions) throw new Error(`${sessions - kept} of ${sessions} Sessions were not taken over`)
  } finally {
    await computer.close()
  }
  return times
}

const ms = (value: number): string => value.toFixed(1)
const { times, bare } = await replacements()
const ready = times.map((time) => time.ready)
const connected = bare.map((time) => time.connected)
const rows: Record<string, string> = {
  "bare Bun: spawn": ms(median(bare.map((time) => time.spawned))),
  "bare Bun: spawn to connected": ms(median(connected)),
  "Session process: SIGKILL to the next generation told to the control plane": ms(
    median(times.map((time) => time.starting)),
  ),
  "Session process: SIGKILL to its replacement ready": `${ms(median(ready))} (worst ${ms(worst(ready))})`,
  "ratio to bare connected": (median(ready) / median(connected)).toFixed(2),
}
for (const size of sizes) {
  const served = await reattachments(size)
  rows[`supervisor: SIGKILL to the first MCP request served, ${size} Sessions`] =
    `${ms(median(served))} (worst ${ms(worst(served))})`
}
console.table(rows)
