/** A Computer whose supervisor runs as a control plane would start it: one precompiled file. The control plane is the tests' fake. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { buildPrograms, type Programs } from "../../computerd/programs.ts"
import type { SupervisorConfiguration } from "../../protocol/configuration.ts"
import { Computer } from "../../test/supervisor/daemon/computer.ts"
import { readLines } from "./lines.ts"

interface Told {
  readonly event: string
  /** ISO 8601. */
  readonly time: string
  readonly generation?: number
  readonly sessionId?: string
}

export interface Supervisor {
  readonly pid: number
  /** When the journal told of this, in milliseconds of the wall clock. */
  readonly told: (event: string, holds: (told: Told) => boolean) => Promise<number>
  readonly kill: (signal: NodeJS.Signals) => Promise<void>
}

export interface Stage {
  readonly computer: Computer
  readonly start: () => Supervisor
  readonly startAttached: () => Promise<Supervisor>
  /** The one that was started last. */
  readonly running: () => Supervisor
  readonly close: () => Promise<void>
}

const waitMs = 180_000

const spawn = (command: readonly string[], directory: string): Supervisor => {
  const child = Bun.spawn([...command], { cwd: directory, stdio: ["ignore", "ignore", "pipe"] })
  const waiting = new Set<(told: Told) => void>()
  const reading = readLines<Told>(child.stderr, (told) => {
    for (const look of waiting) look(told)
  })
  return {
    pid: child.pid,
    told: (event, holds) =>
      new Promise((resolve) => {
        const look = (told: Told): void => {
          if (told.event !== event || !holds(told)) return
          waiting.delete(look)
          resolve(Date.parse(told.time))
        }
        waiting.add(look)
      }),
    kill: async (signal) => {
      child.kill(signal)
      await Promise.all([child.exited, reading])
    },
  }
}

export interface StageOptions {
  readonly config?: Partial<SupervisorConfiguration>
  /** Instead of the session host. */
  readonly sessionHost?: readonly string[]
}

export const buildInto = async (directory: string): Promise<Programs> => {
  const built = await buildPrograms(directory)
  if (!built.ok) throw new Error(built.error.message)
  return built.value
}

export const openStage = async (options: StageOptions = {}): Promise<Stage> => {
  const directory = await mkdtemp(join(tmpdir(), "lifecycle-"))
  const { supervisor, sessionHost } = await buildInto(directory)
  const host = options.sessionHost ?? [process.execPath, "--no-install", sessionHost]
  const config = { logLevel: "error" as const, ...options.config, sessionHost: [...host] }
  const computer = await Computer.create({ config })
  const command = [process.execPath, "--no-install", supervisor, "run", "--config", computer.configFile]
  let last: Supervisor | undefined
  const start = (): Supervisor => {
    last = spawn(command, computer.directory)
    return last
  }
  return {
    computer,
    start,
    startAttached: async () => {
      const started = start()
      await computer.untilStatus(({ link, pid }) => link.state === "attached" && pid === started.pid)
      return started
    },
    running: () => {
      if (last === undefined) throw new Error("no supervisor was started")
      return last
    },
    close: async () => {
      await last?.kill("SIGTERM")
      await computer.close()
      await rm(directory, { recursive: true })
    },
  }
}

/** Until the control plane has heard of this for each of the Sessions. */
export const heard = async (
  { computer: { controlPlane } }: Stage,
  type: "process_starting" | "process_ready" | "released",
  sessions: ReadonlySet<string>,
  generation = 1,
): Promise<void> => {
  const has = (): boolean => {
    const of = controlPlane.applied.filter(
      ({ event }) =>
        event.type === type &&
        sessions.has(event.sessionId) &&
        (!("generation" in event) || event.generation === generation),
    )
    return of.length >= sessions.size
  }
  await controlPlane.until(has, `${type} ${generation} of ${sessions.size} Sessions`, waitMs)
}
