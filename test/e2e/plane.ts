/** A control plane with real Computers, and Sessions of the program `controls` driven by stock MCP clients of the test. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { ControlPlane } from "@computerd/control-plane/control-plane"
import type { TurnView } from "@computerd/control-plane/receiver/receiver"
import type { ComputerId, SessionId, TurnId } from "@computerd/protocol/ids"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { programs, type Rig, until } from "../control-plane/drivers/rig.ts"
import { environment, freshKey, text } from "../control-plane/rig.ts"

export const controls = join(programs, "controls")

/** What a Turn of the worker does; see the program. */
export interface Work {
  readonly log: string
  readonly gate?: string
  readonly stopMs?: number | "never"
  readonly listen?: string
  readonly read?: string
}

export interface Turn {
  readonly sessionId: SessionId
  readonly turnId: TurnId
}

export interface Init {
  readonly pid: number
  readonly recovery: { readonly kind: string; readonly reason?: string }
  readonly connection: { readonly url: string; readonly headers: { readonly Authorization: string } }
}

type Answer = Readonly<Record<string, unknown>>
type Reads = Pick<ControlPlane, "snapshot" | "turn">

const lines = (file: string): readonly string[] => {
  try {
    return readFileSync(file, "utf8").split("\n").filter(Boolean)
  } catch {
    return []
  }
}

/** What `init` of this Agent left on a Computer: a line for each time that it ran. */
export const initsIn = (rig: Rig, computerId: ComputerId, agent: string): readonly Init[] =>
  lines(join(rig.computer(computerId), "workspace", `inits-${agent}.jsonl`)).map((line) => JSON.parse(line))

/** A stock client of one Session's endpoint; it is made once and never replaced. */
export const clientOf = async ({ connection }: Init) => {
  const client = new Client({ name: "test", version: "1.0.0" })
  const requestInit = { headers: connection.headers }
  await client.connect(new StreamableHTTPClientTransport(new URL(connection.url), { requestInit }))
  const call = async (name: string, args: Answer) => {
    const answer = await client.callTool({ name, arguments: args })
    const content = answer.content as readonly { readonly text: string }[]
    return { isError: answer.isError === true, text: content[0]?.text ?? "" }
  }
  return {
    /** The answer, whatever it is. */
    call,
    /** The object that an accepted call answers with. A mutation gets a key of its own. */
    ask: async (name: string, args: Answer): Promise<Answer> => {
      const keyed = name.startsWith("inspect_") || name.startsWith("wait_") || name.startsWith("list_")
      const answer = await call(name, keyed ? args : { idempotencyKey: freshKey(), ...args })
      if (answer.isError) throw new Error(`${name}: ${answer.text}`)
      return JSON.parse(answer.text)
    },
    close: () => client.close(),
  }
}
export type StockClient = Awaited<ReturnType<typeof clientOf>>

export const scene = (rig: Rig, plane: Reads) => {
  let files = 0
  const file = (name: string): string => {
    files += 1
    return join(rig.root, `${name}-${files}`)
  }
  const session = (id: SessionId) => {
    const found = plane.snapshot().sessions.find((one) => one.id === id)
    if (found === undefined) throw new Error(`no Session ${id}`)
    return found
  }
  const inits = (computerId: ComputerId, agent: string) => initsIn(rig, computerId, agent)
  return {
    file,
    open: (gate: string) => Bun.write(gate, ""),
    session,
    computer: (id: ComputerId) => plane.snapshot().computers.find((one) => one.id === id),
    inits,
    /** How often `init` ran, where its process was, and with which connection. */
    init: (id: SessionId) =>
      until(`init of ${id}`, () => inits(session(id).computerId, session(id).agent).at(-1)),
    log: lines,
    said: (log: string, what: string) =>
      until(`"${what}" in\n${lines(log).join("\n")}`, () => lines(log).find((line) => line.includes(what))),
    settled: ({ sessionId, turnId }: Turn): Promise<TurnView> =>
      until(`the end of ${turnId}`, () => {
        const view = plane.turn(sessionId, turnId)
        return view === undefined || view.settledAtMs === null ? undefined : view
      }),
    status: ({ sessionId, turnId }: Turn) => plane.turn(sessionId, turnId)?.status,
    residency: (id: ComputerId, wanted: string) =>
      until(`${id} to be ${wanted}`, () =>
        plane.snapshot().computers.find((one) => one.id === id)?.residency === wanted ? true : undefined,
      ),
  }
}
export type Scene = ReturnType<typeof scene>

export const input = (value: object) => text(JSON.stringify(value))

/** A Session from outside. */
export const startWith = (plane: ControlPlane, agent: string, given: object) => {
  const idempotencyKey = freshKey()
  const started = plane.startSession({ environment, agent, input: input(given), idempotencyKey })
  if (!started.ok) throw new Error(started.error.message)
  return started.value
}

/** Processes of a Computer with the kernel's word on each: those that a signal or a control group has frozen. */
export const processesOn = (computerId: ComputerId, supervisor: number) => {
  const read = (path: string): string => {
    try {
      return readFileSync(path, "utf8")
    } catch {
      return ""
    }
  }
  const frozenByGroup = (pid: string): boolean => {
    const group = /^0::(\/.+)$/m.exec(read(`/proc/${pid}/cgroup`))?.[1]
    const point = / - cgroup2 /.exec(read("/proc/self/mountinfo")) === null ? undefined : mountPoint()
    return (
      group !== undefined &&
      point !== undefined &&
      read(join(point, group, "cgroup.events")).includes("frozen 1")
    )
  }
  const mountPoint = (): string | undefined =>
    read("/proc/self/mountinfo")
      .split("\n")
      .find((line) => line.includes(" - cgroup2 "))
      ?.split(" ")[4]
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter(
      (pid) =>
        pid === String(supervisor) ||
        read(`/proc/${pid}/environ`).split("\0").includes(`HELMR_COMPUTER_ID=${computerId}`),
    )
    .map((pid) => {
      const stat = read(`/proc/${pid}/stat`)
      const state = stat.slice(stat.lastIndexOf(")") + 2)[0]
      return { pid: Number(pid), isFrozen: state === "T" || frozenByGroup(pid) }
    })
}
