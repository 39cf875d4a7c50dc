/** The contenders: each a process of its own, with what its client must send to be served. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { token } from "./workload.ts"

export interface Contender {
  readonly name: string
  readonly file: string
  readonly runtime: "bun" | "node"
  readonly headers: Readonly<Record<string, string>>
}

const usual = {
  Authorization: token,
  "Content-Type": "application/json",
  Accept: "application/json, text/event-stream",
  "MCP-Protocol-Version": "2025-11-25",
}
/** It knows no later revision. */
const liteVersion = { "MCP-Protocol-Version": "2025-03-26" }

const bun = (name: string, file: string, headers: Readonly<Record<string, string>> = {}): Contender => ({
  name,
  file,
  runtime: "bun",
  headers: { ...usual, ...headers },
})

export const contenders: readonly Contender[] = [
  bun("raw Bun.serve + zod", "raw"),
  bun("ours", "ours"),
  bun("hand-written minimum", "handwritten"),
  bun("EdgeFastMCP", "edge-fastmcp"),
  bun("mcp-lite, as stock clients see it (SSE)", "mcp-lite", liteVersion),
  bun("mcp-lite, client refuses SSE", "mcp-lite", { ...liteVersion, Accept: "application/json" }),
  bun("SDK v1 on Bun, one server a request", "sdk-bun"),
  {
    name: "SDK v1 stateless example, Node + Express",
    file: "sdk-node-express",
    runtime: "node",
    headers: usual,
  },
  bun("SDK v2 createMcpHandler", "sdk-v2"),
  bun("@hono/mcp", "hono-mcp"),
  bun("elysia-mcp", "elysia-mcp"),
]

export interface Running extends Contender {
  readonly port: number
  readonly pid: number
  /** Nanoseconds of processor time so far. */
  readonly cpuNs: () => Promise<number>
  readonly rssKb: () => Promise<number>
  readonly stop: () => Promise<void>
}

const nodeBuild = async (file: string, folder: string): Promise<string> => {
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, "peers", `${file}.ts`)],
    outdir: folder,
    target: "node",
    format: "cjs",
    naming: "[name].cjs",
  })
  return built.outputs[0]?.path ?? ""
}

const readProc = (pid: number, name: string): Promise<string> => Bun.file(`/proc/${pid}/${name}`).text()

/** Sums the threads: the main thread alone would hide what a runtime moves to others. */
const cpuOf = async (pid: number): Promise<number> => {
  const stat = await readProc(pid, "stat")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return (Number(fields[11]) + Number(fields[12])) * 10_000_000
}

export const startContender = async (contender: Contender): Promise<Running> => {
  const folder = await mkdtemp(join(tmpdir(), "bench-endpoint-"))
  const command =
    contender.runtime === "node"
      ? ["node", await nodeBuild(contender.file, folder)]
      : [process.execPath, join(import.meta.dir, "peers", `${contender.file}.ts`)]
  const child = Bun.spawn(command, {
    stdout: "pipe",
    stderr: "inherit",
    env: { PATH: process.env.PATH ?? "" },
  })
  const { value } = await child.stdout.getReader().read()
  const port = Number(new TextDecoder().decode(value).trim())
  if (!(port > 0)) throw new Error(`${contender.name} did not start`)
  return {
    ...contender,
    port,
    pid: child.pid,
    cpuNs: () => cpuOf(child.pid),
    rssKb: async () => Number(/VmRSS:\s+(\d+)/.exec(await readProc(child.pid, "status"))?.[1] ?? 0),
    stop: async () => {
      child.kill("SIGKILL")
      await child.exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export interface Client {
  readonly run: (job: import("./load.ts").Job) => Promise<import("./load.ts").Outcome>
  readonly stop: () => Promise<void>
}

export const startClient = (): Client => {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "load.ts")], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  })
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  let buffered = ""
  const line = async (): Promise<string> => {
    for (;;) {
      const end = buffered.indexOf("\n")
      if (end !== -1) {
        const text = buffered.slice(0, end)
        buffered = buffered.slice(end + 1)
        return text
      }
      const { value, done } = await reader.read()
      if (done) throw new Error("the client ended")
      buffered += value
    }
  }
  return {
    run: async (job) => {
      child.stdin.write(`${JSON.stringify(job)}\n`)
      await child.stdin.flush()
      return JSON.parse(await line())
    },
    stop: async () => {
      child.kill("SIGKILL")
      await child.exited
    },
  }
}
