/** The whole system with work in it, stopped by SIGSTOP for a while, and what is seen of it afterwards. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { ControlPlaneOptions } from "@computerd/control-plane/control-plane"
import type { Result } from "@computerd/protocol/errors"
import type { SessionId, TurnId } from "@computerd/protocol/ids"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { processesOf, type Rig, until } from "../control-plane/drivers/rig.ts"
import { environment, freshKey } from "../control-plane/rig.ts"
import { controls, type Init, initsIn, input } from "./plane.ts"

export interface Pause {
  readonly stopMs: number
  /** Of the `wait_turn` that is under way. */
  readonly waitMs: number
  /** `computer`: the supervisor and its Session processes. */
  readonly what: "supervisor" | "computer" | "everything"
  readonly settings?: ControlPlaneOptions["settings"]
}

export interface Seen {
  readonly waitAnswer: string
  /** Of the wait, without the time of the stop. */
  readonly waitedMs: number
  readonly turn: string
  readonly begun: number
  readonly generations: readonly number[]
  readonly inits: readonly number[]
  readonly processes: "the same" | "others"
  readonly supervisor: "the same" | "another"
  readonly sameHeader: unknown
}

const value = <Value>(result: Result<Value>): Value => {
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`)
  return result.value
}

type Fetch = (address: string | URL, init?: RequestInit) => Promise<Response>

/** A client that waits as long as it takes: its own patience is not under test. */
const patientClient = async ({ connection }: Init) => {
  const endless: Fetch = (address, init) => fetch(address, { ...init, timeout: false } as RequestInit)
  const client = new Client({ name: "pause", version: "1.0.0" })
  const requestInit = { headers: connection.headers }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(connection.url), { requestInit, fetch: endless }),
  )
  const ask = async (name: string, args: Readonly<Record<string, unknown>>) => {
    const answer = await client.callTool({ name, arguments: args }, undefined, { timeout: 3_600_000 })
    const content = answer.content as readonly { readonly text: string }[]
    if (answer.isError === true) throw new Error(`${name}: ${content[0]?.text ?? ""}`)
    return JSON.parse(content[0]?.text ?? "{}")
  }
  return { ask, close: () => client.close() }
}

const read = (file: string): readonly string[] => {
  try {
    return readFileSync(file, "utf8").split("\n").filter(Boolean)
  } catch {
    return []
  }
}

/** Stops them all, and lets them go on after the time. */
const stop = async (pids: readonly number[], ms: number): Promise<void> => {
  for (const pid of pids) process.kill(pid, "SIGSTOP")
  await Bun.sleep(ms)
  for (const pid of pids) process.kill(pid, "SIGCONT")
}

export const seeThrough = async (rig: Rig, pause: Pause): Promise<Seen> => {
  const plane = await rig.spawn(pause.settings === undefined ? {} : { settings: pause.settings })
  value(await plane.client.publish({ directory: controls, environment }))
  const session = async (id: SessionId) => {
    const found = value(await plane.client.snapshot()).sessions.find((one) => one.id === id)
    if (found === undefined) throw new Error(`no Session ${id}`)
    return found
  }
  const settled = (sessionId: SessionId, turnId: TurnId) =>
    until(`the end of ${turnId}`, async () => {
      const turn = value(await plane.client.turn(sessionId, turnId))
      return turn.settledAtMs === null ? undefined : turn
    })
  const started = value(
    await plane.client.startSession({
      ...{ environment, agent: "caller", input: input({}), idempotencyKey: freshKey() },
    }),
  )
  await settled(started.sessionId, started.turnId)
  const { computerId } = await session(started.sessionId)
  const [init] = initsIn(rig, computerId, "caller")
  if (init === undefined) throw new Error("the caller left no connection")
  const client = await patientClient(init)
  const [log, gate] = [join(rig.root, "log"), join(rig.root, "gate")]
  const worker = await client.ask("spawn", {
    ...{ agent: "worker", computerId, input: input({ log, gate }), idempotencyKey: "worker" },
  })
  await until("the worker's Turn", () => (read(log).length > 0 ? true : undefined))
  const supervisor = await rig.supervisorPid(computerId)
  const everybody = await processesOf(rig.stateDirectory)
  const ofComputer = everybody.filter((pid) => pid !== plane.pid)

  const startedMs = performance.now()
  const target = { sessionId: worker.sessionId, turnId: worker.turnId }
  const waiting = client
    .ask("wait_turn", { ...target, timeoutMs: pause.waitMs })
    .then((answer) => ({ answer: String(answer.status), afterMs: performance.now() - startedMs }))
  await Bun.sleep(pause.waitMs / 4)
  const stopped = { supervisor: [supervisor], computer: ofComputer, everything: everybody }[pause.what]
  await stop(stopped, pause.stopMs)

  const { answer, afterMs } = await waiting
  const turn = value(await plane.client.turn(target.sessionId, target.turnId)).status
  await Bun.write(gate, "")
  await settled(target.sessionId, target.turnId)
  const again = await client.ask("enqueue", {
    ...{ sessionId: started.sessionId, input: input({}), idempotencyKey: "again" },
  })
  const { result } = await settled(started.sessionId, again.turnId)
  const views = [await session(started.sessionId), await session(target.sessionId)]
  const now = await processesOf(rig.stateDirectory)
  await client.close()
  return {
    waitAnswer: answer,
    waitedMs: Math.round(afterMs - pause.stopMs),
    turn,
    begun: read(log).filter((line) => line.includes("begins")).length,
    generations: views.map(({ generation }) => generation),
    inits: ["caller", "worker"].map((agent) => initsIn(rig, computerId, agent).length),
    processes: everybody.every((pid) => now.includes(pid)) ? "the same" : "others",
    supervisor: (await rig.supervisorPid(computerId)) === supervisor ? "the same" : "another",
    sameHeader: (result as { readonly isSameHeader?: unknown } | undefined)?.isSameHeader,
  }
}

export const expected: Omit<Seen, "waitedMs"> = {
  waitAnswer: "timeout",
  turn: "running",
  begun: 1,
  generations: [1, 1],
  inits: [1, 1],
  processes: "the same",
  supervisor: "the same",
  sameHeader: true,
}
