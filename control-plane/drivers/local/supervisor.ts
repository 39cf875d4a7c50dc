/** A supervisor process, either started here or found living after a restart of the control plane. */
import { closeSync, openSync } from "node:fs"
import { stat } from "node:fs/promises"
import type { Environment } from "../../environment.ts"
import type { Ports } from "../../ports.ts"
import type { ComputerDirectory } from "./directory.ts"
import { identityOf, isAlive, type ProcessIdentity, signalProcess } from "./identity.ts"
import { lastWords } from "./last-words.ts"

export interface Supervisor {
  readonly identity: ProcessIdentity
  /** How it ended, in words. */
  readonly ended: Promise<string>
  readonly signal: (signal: "SIGTERM" | "SIGKILL") => Promise<boolean>
  /** Stops watching; the process is left alone. */
  readonly unwatch: () => void
}

/** Well within the two seconds in which a death is to be reported. */
const watchEveryMs = 200

/** It is not our child any more, so its exit code cannot be known and is not invented. */
export const adoptSupervisor = (identity: ProcessIdentity, ports: Pick<Ports, "after">): Supervisor => {
  const { promise, resolve } = Promise.withResolvers<string>()
  let watching = true
  const look = async (): Promise<void> => {
    if (!watching) return
    if (await isAlive(identity)) ports.after(watchEveryMs, () => void look())
    else resolve("supervisor ended while it was not a child of this control plane")
  }
  void look()
  return {
    identity,
    ended: promise,
    signal: (signal) => signalProcess(identity, signal),
    unwatch: () => {
      watching = false
    },
  }
}

export interface SpawnRequest {
  readonly command: readonly string[]
  readonly directory: ComputerDirectory
  readonly environment: Environment
  /** Hold its standard input open, so that it ends when this process does. */
  readonly lifeline: boolean
}

const spawnChild = ({ command, directory, environment, lifeline }: SpawnRequest) => {
  const log = openSync(directory.log, "a", 0o600)
  try {
    return Bun.spawn([...command, "run", "--config", directory.configuration], {
      cwd: "/",
      env: { ...environment },
      stdin: lifeline ? "pipe" : "ignore",
      stdout: log,
      stderr: log,
      detached: true,
    })
  } finally {
    closeSync(log)
  }
}

/** Throws when the command cannot be started. */
export const spawnSupervisor = async (request: SpawnRequest): Promise<Supervisor> => {
  const from = await stat(request.directory.log).then(
    (entry) => entry.size,
    () => 0,
  )
  const child = spawnChild(request)
  // The wait goes on through `ended`; an idle control plane need not be kept awake by it.
  child.unref()
  const ended = child.exited.then(async (code) => {
    const how =
      child.signalCode === null ? `exited with code ${code}` : `was ended by ${String(child.signalCode)}`
    const end = child.signalCode === null ? "code" : "signal"
    const said = await lastWords(request.directory.log, from, end)
    return said === "" ? `supervisor ${how}` : `supervisor ${how}: ${said}`
  })
  const identity = await identityOf(child.pid)
  if (identity === undefined) throw new Error(await ended)
  return {
    identity,
    ended,
    signal: (signal) => signalProcess(identity, signal),
    unwatch: () => undefined,
  }
}
