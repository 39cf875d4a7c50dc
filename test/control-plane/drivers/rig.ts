/** Control planes with real supervisors and Session processes, in this process or in one that can be killed. */
import { Database } from "bun:sqlite"
import { mkdtemp, readdir, readFile, realpath, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  type ControlPlane,
  type ControlPlaneOptions,
  createControlPlane,
} from "@computerd/control-plane/control-plane"
import { baseEnvironment } from "@computerd/control-plane/environment"
import { operatorClient } from "@computerd/control-plane/http/client"
import type { JournalEvent } from "@computerd/control-plane/journal"
import type { ComputerId, SessionId, TurnId } from "@computerd/protocol/ids"
import { bun, describeCommand, fallbackModules, repository } from "../publication/rig.ts"
import { environment, freshKey, text } from "../rig.ts"

export const programs = join(repository, "test/fixtures/programs")
const waitMs = 60_000

/** Waits for a fact, looking often; the bound is generous because machines are slow and facts are not. */
export const until = async <Value>(
  what: string,
  look: () => Promise<Value | undefined> | Value | undefined,
): Promise<Value> => {
  const end = performance.now() + waitMs
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > end) throw new Error(`waited in vain for ${what}`)
    await Bun.sleep(5)
  }
}

export const alive = async (pid: number): Promise<boolean> => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")
  return stat !== "" && !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2))
}

export const dead = (pid: number): Promise<true> =>
  until(`the end of process ${pid}`, async () => ((await alive(pid)) ? undefined : true))

/** Processes that speak of this directory in their command line or carry one of its Computers in their environment. */
export const processesOf = async (stateDirectory: string): Promise<readonly number[]> => {
  const ids = await readdir(join(stateDirectory, "computers")).catch(() => [])
  const needles = [stateDirectory, ...ids.map((id) => `HELMR_COMPUTER_ID=${id}`)]
  const found: number[] = []
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number)) {
    if (pid === process.pid || !(await alive(pid))) continue
    const read = (name: string) => readFile(`/proc/${pid}/${name}`, "utf8").catch(() => "")
    const seen = `${await read("cmdline")}\0${await read("environ")}`
    if (needles.some((needle) => seen.includes(needle))) found.push(pid)
  }
  return found
}

/** Puts another layout number into a store; answers with the one before. */
const putLayout = (path: string, next: number): number => {
  const database = new Database(path)
  database.run("PRAGMA busy_timeout = 5000")
  const before = database.query<{ readonly user_version: number }, []>("PRAGMA user_version").get()
  database.run(`PRAGMA user_version = ${next}`)
  database.close()
  return before?.user_version ?? 0
}

export const createRig = async () => {
  const root = await realpath(await mkdtemp(join(tmpdir(), "local-")))
  const stateDirectory = join(root, "state")
  const journal: JournalEvent[] = []
  const running: (() => Promise<unknown>)[] = []

  const options = (changes: Partial<ControlPlaneOptions> = {}): ControlPlaneOptions => ({
    stateDirectory,
    listen: { hostname: "127.0.0.1", port: 0 },
    supervisorCommand: [...bun, join(repository, "test/fixtures/computer-command.ts")],
    sessionHostCommand: [...bun, join(repository, "session-host/main.ts")],
    describeCommand,
    local: { lifeline: false, reviveMs: 2_000 },
    fallbackModules,
    unenforced: false,
    environment: baseEnvironment(process.env),
    journal: { record: (event) => journal.push(event) },
    ...changes,
  })

  const open = async (changes: Partial<ControlPlaneOptions> = {}): Promise<ControlPlane> => {
    const made = await createControlPlane(options(changes))
    if (!made.ok) throw new Error(`${made.error.code}: ${made.error.message}`)
    running.push(made.value.close)
    return made.value
  }

  /** As a process; `kill` is what a crash is. */
  const spawn = async (changes: Partial<ControlPlaneOptions> = {}) => {
    const { journal: _, ...given } = options(changes)
    const script = join(repository, "test/fixtures/control-plane.ts")
    const child = Bun.spawn([...bun, script, JSON.stringify(given)], {
      stdout: "pipe",
      stderr: "inherit",
      stdin: "ignore",
    })
    const end = (signal: "SIGKILL" | "SIGTERM") => async () => {
      child.kill(signal)
      return child.exited
    }
    running.push(end("SIGTERM"))
    const reader = child.stdout.getReader()
    const { value } = await reader.read()
    reader.releaseLock()
    const said: { ready?: string; message?: string } = JSON.parse(new TextDecoder().decode(value))
    if (said.ready === undefined) throw new Error(said.message)
    return {
      pid: child.pid,
      url: said.ready,
      client: operatorClient(stateDirectory),
      kill: end("SIGKILL"),
      stop: end("SIGTERM"),
    }
  }

  return {
    root,
    stateDirectory,
    journal,
    options,
    open,
    spawn,
    computer: (id: ComputerId) => join(stateDirectory, "computers", id),
    /** The store of a running supervisor stays usable to it; no other one can open it, so none can be started again. */
    spoilStore: (id: ComputerId): { readonly mend: () => void } => {
      const path = join(stateDirectory, "computers", id, "state/store.sqlite")
      const layout = putLayout(path, 9000)
      return { mend: () => void putLayout(path, layout) }
    },
    supervisorPid: async (id: ComputerId): Promise<number> =>
      until(`the supervisor of ${id}`, async () => {
        const record = await Bun.file(join(stateDirectory, "computers", id, "process.json"))
          .json()
          .catch(() => undefined)
        return record?.state === "running" ? Number(record.process.pid) : undefined
      }),
    close: async () => {
      for (const end of running.toReversed()) await end()
      const left = await processesOf(stateDirectory)
      for (const pid of left) process.kill(pid, "SIGKILL")
      await rm(root, { recursive: true, force: true })
      if (left.length > 0) throw new Error(`processes were left: ${left.join(", ")}`)
    },
  }
}
export type Rig = Awaited<ReturnType<typeof createRig>>

export const publish = async (plane: ControlPlane, directory: string) => {
  const published = await plane.publish(directory)
  if (!published.ok) throw new Error(`${published.error.code}: ${published.error.message}`)
  return published.value
}

export const start = (plane: ControlPlane, agent: string, input = "hi") => {
  const started = plane.startSession({ environment, agent, input: text(input), idempotencyKey: freshKey() })
  if (!started.ok) throw new Error(started.error.message)
  const session = plane.snapshot().sessions.find((one) => one.id === started.value.sessionId)
  if (session === undefined) throw new Error("the Session is not in the snapshot")
  return { ...started.value, computerId: session.computerId }
}

export const settled = (
  plane: ControlPlane,
  turn: { readonly sessionId: SessionId; readonly turnId: TurnId },
) =>
  until(`the end of ${turn.turnId}`, () => {
    const view = plane.turn(turn.sessionId, turn.turnId)
    return view === undefined || view.settledAtMs === null ? undefined : view
  })
