/**
 * From SIGKILL of a supervisor to the first MCP request that the next one serves, with so many living Sessions, each
 * with an MCP endpoint of its own; beside it a bare Bun server that is killed and started again on its port.
 */
import { join } from "node:path"
import { McpConnection } from "../../protocol/channel.ts"
import { type Memory, memoryOf, now } from "./figures.ts"
import { readLines } from "./lines.ts"
import { heard, openStage, type Stage } from "./stage.ts"

export interface Restarts {
  readonly served: readonly number[]
  readonly memory: Memory
}

const waitMs = 120_000
const restMs = 3_000

const post = (headers: Readonly<Record<string, string>>): RequestInit => ({
  method: "POST",
  headers: {
    ...headers,
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
  },
  body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  keepalive: false,
})

const untilServed = async (url: string, request: RequestInit): Promise<void> => {
  const end = now() + waitMs
  while (now() < end) {
    const response = await fetch(url, request).catch(() => undefined)
    await response?.body?.cancel()
    if (response?.ok) return
    await Bun.sleep(1)
  }
  throw new Error(`${url} was never served again`)
}

export const measureBareRestarts = async (rounds: number): Promise<Restarts> => {
  const start = (port: number) =>
    Bun.spawn([process.execPath, join(import.meta.dir, "bare-server.ts"), String(port)], { stdout: "pipe" })
  let child = start(0)
  const { value } = await child.stdout.getReader().read()
  const port = Number(new TextDecoder().decode(value))
  const url = `http://127.0.0.1:${port}/mcp`
  const served: number[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const killed = now()
    child.kill("SIGKILL")
    await child.exited
    child = start(port)
    await untilServed(url, post({}))
    if (round > 0) served.push(now() - killed)
  }
  await Bun.sleep(restMs)
  const memory = memoryOf(child.pid)
  child.kill("SIGKILL")
  await child.exited
  return { served, memory }
}

type Spoken =
  | { readonly command: readonly string[] }
  | { readonly sessionId: string; readonly connection: object }

/** The process that speaks for the stand-ins, and what it told of each Session's connection. */
const openCrowd = async (scopes: number) => {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "crowd.ts"), String(scopes)], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  const { promise: command, resolve } = Promise.withResolvers<readonly string[]>()
  const connections = new Map<string, McpConnection>()
  const reading = readLines<Spoken>(child.stdout, (spoken) => {
    if ("command" in spoken) resolve(spoken.command)
    else connections.set(spoken.sessionId, McpConnection.parse(spoken.connection))
  })
  return {
    command: await command,
    connections,
    close: async () => {
      child.kill("SIGTERM")
      await Promise.all([child.exited, reading])
    },
  }
}

const takenOver = async ({ computer }: Stage, sessions: number): Promise<void> => {
  await computer.untilStatus((status) => {
    const kept = status.sessions.filter(({ generation, state }) => generation === 1 && state === "ready")
    return status.link.state === "attached" && kept.length === sessions
  })
}

const restart = async (stage: Stage, connection: McpConnection, rounds: number): Promise<number[]> => {
  const served: number[] = []
  let supervisor = stage.running()
  for (let round = 0; round <= rounds; round += 1) {
    const killed = now()
    await supervisor.kill("SIGKILL")
    supervisor = stage.start()
    await untilServed(connection.url, post(connection.headers))
    if (round > 0) served.push(now() - killed)
    await Bun.sleep(restMs)
  }
  return served
}

export interface Crowd {
  readonly sessions: number
  /** Of each Session. */
  readonly scopes: number
}

export const measureRestarts = async ({ sessions, scopes }: Crowd, rounds: number): Promise<Restarts> => {
  const crowd = await openCrowd(scopes)
  const stage = await openStage({ sessionHost: crowd.command })
  try {
    await stage.startAttached()
    const all = Array.from({ length: sessions }, () => stage.computer.assign())
    await heard(stage, "process_ready", new Set<string>(all))
    const connection = crowd.connections.values().next().value
    const served = connection === undefined ? [] : await restart(stage, connection, rounds)
    await takenOver(stage, sessions)
    await Bun.sleep(restMs)
    return { served, memory: memoryOf(stage.running().pid) }
  } finally {
    await stage.close()
    await crowd.close()
  }
}
