/**
 * Starts one Session process: own session and group, own control group where there is one, an environment built from
 * nothing, output straight into files, and its bootstrap as one line on standard input. How it ended comes from the
 * kernel alone.
 *
 * SP1 nothing waits for the end of a stream: a grandchild may hold one open for ever
 */
import type { SessionBootstrap } from "@computerd/protocol/channel"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { ExitReason } from "@computerd/protocol/link"
import type { Timers } from "../ports.ts"
import type { ProcessStamp } from "./identity.ts"
import type { OutputFiles } from "./logs.ts"
import { type MemoryWatch, offerFirst, watchMemory } from "./memory.ts"
import { stampOf } from "./procfs.ts"

export interface SpawnRequest {
  readonly timers: Timers
  readonly command: readonly string[]
  readonly workingDirectory: string
  readonly environment: Readonly<Record<string, string>>
  readonly cgroup: string | undefined
  readonly output: OutputFiles
  readonly bootstrap: SessionBootstrap
  readonly bootId: string
}

export interface SpawnedProcess {
  readonly stamp: ProcessStamp
  readonly exited: Promise<ExitReason>
}

/** A code of 137 may be an exit or a kill: only `signalCode` tells them apart. */
const exitReason = async (child: Bun.Subprocess, memory: MemoryWatch): Promise<ExitReason> => {
  const code = await child.exited
  const signal = child.signalCode
  if (signal === null) return memory.explain({ kind: "code", code })
  return memory.explain({ kind: "signal", signal: String(signal) })
}

const start = (request: SpawnRequest): Bun.Subprocess =>
  Bun.spawn({
    cmd: [...request.command],
    cwd: request.workingDirectory,
    env: { ...request.environment },
    detached: true,
    stdin: Buffer.from(`${JSON.stringify(request.bootstrap)}\n`),
    stdout: request.output.stdout,
    stderr: request.output.stderr,
    ...(request.cgroup === undefined ? {} : { cgroup: request.cgroup }),
  })

export const spawnProcess = (request: SpawnRequest): Result<SpawnedProcess> => {
  try {
    const child = start(request)
    offerFirst(child.pid)
    const exited = exitReason(child, watchMemory(request.timers, request.cgroup))
    // Nobody can have reaped it yet, so its entry in /proc is there even if it is dead already.
    const stamp = stampOf(child.pid, request.bootId) ?? {
      pid: child.pid,
      startTime: "unknown",
      bootId: request.bootId,
    }
    return ok({ stamp, exited })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return fail(
      "internal",
      `cannot start ${request.command[0] ?? "the session host"} in ${request.workingDirectory}: ${message}`,
    )
  } finally {
    request.output.close()
  }
}
