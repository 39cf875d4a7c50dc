/** A control plane inside this process, whose Computers are local processes that run this very command. */
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { type ControlPlane, createControlPlane } from "@computerd/control-plane/control-plane"
import { baseEnvironment } from "@computerd/control-plane/environment"
import type { Journal } from "@computerd/control-plane/journal"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { Listen } from "./arguments/values.ts"
import { describeCommand, fallbackModules, sessionHostCommand, supervisorCommand } from "./children.ts"

export interface EmbeddedOptions {
  readonly stateDirectory: string
  readonly listen: Listen
  readonly unenforced: boolean
  /** `held`: supervisors end when this process does, however it ends. */
  readonly supervisors: "held" | "free"
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly journal: Journal
}

const hostDirectory = async (stateDirectory: string): Promise<Result<string>> => {
  const path = join(stateDirectory, "session-host")
  try {
    await mkdir(path, { recursive: true, mode: 0o700 })
    return ok(path)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return fail("invalid_configuration", `the state directory ${stateDirectory} cannot be used: ${reason}`)
  }
}

export const embedControlPlane = async (options: EmbeddedOptions): Promise<Result<ControlPlane>> => {
  const directory = await hostDirectory(options.stateDirectory)
  if (!directory.ok) return directory
  const host = await sessionHostCommand(directory.value)
  if (!host.ok) return host
  return createControlPlane({
    stateDirectory: options.stateDirectory,
    listen: options.listen,
    supervisorCommand,
    sessionHostCommand: host.value,
    describeCommand,
    local: { lifeline: options.supervisors === "held" },
    fallbackModules: await fallbackModules(),
    unenforced: options.unenforced,
    environment: baseEnvironment(options.environment),
    journal: options.journal,
  })
}
