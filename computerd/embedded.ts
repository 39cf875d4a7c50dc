/** A control plane inside this process, whose Computers are local processes of this very version. */

import type { ApiListen } from "@computerd/control-plane/api/server"
import { type ControlPlane, createControlPlane } from "@computerd/control-plane/control-plane"
import { baseEnvironment } from "@computerd/control-plane/environment"
import type { Journal } from "@computerd/control-plane/journal"
import { prepareStateDirectory } from "@computerd/control-plane/state-directory"
import type { Result } from "@computerd/protocol/errors"
import type { Listen } from "./arguments/values.ts"
import { bun, describeCommand, fallbackModules } from "./children.ts"
import { preparePrograms } from "./programs/programs.ts"

export interface EmbeddedOptions {
  readonly stateDirectory: string
  readonly listen: Listen
  readonly unenforced: boolean
  readonly capacity?: number
  readonly privateRanges: readonly string[]
  /** Absent: no public API. */
  readonly api?: ApiListen
  /** `held`: supervisors end when this process does, however it ends. */
  readonly supervisors: "held" | "free"
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly journal: Journal
}

export const embedControlPlane = async (options: EmbeddedOptions): Promise<Result<ControlPlane>> => {
  const prepared = await prepareStateDirectory(options.stateDirectory)
  if (!prepared.ok) return prepared
  const programs = await preparePrograms(prepared.value)
  if (!programs.ok) return programs
  return createControlPlane({
    stateDirectory: prepared.value,
    listen: options.listen,
    supervisorCommand: [...bun, programs.value.supervisor],
    sessionHostCommand: [...bun, programs.value.sessionHost],
    describeCommand,
    // Whoever watches it run wants to be told soon.
    local: options.supervisors === "held" ? { lifeline: true, reviveMs: 5_000 } : { lifeline: false },
    fallbackModules: await fallbackModules(),
    unenforced: options.unenforced,
    ...(options.capacity === undefined ? {} : { capacity: options.capacity }),
    privateRanges: options.privateRanges,
    ...(options.api === undefined ? {} : { api: { listen: options.api } }),
    environment: baseEnvironment(options.environment),
    journal: options.journal,
  })
}
