/** Starts the session host for one run, with everything that this Computer gives a Session process. */
import { join } from "node:path"
import type { SessionBootstrap } from "@computerd/protocol/channel"
import type { SupervisorConfiguration } from "@computerd/protocol/configuration"
import type { Result } from "@computerd/protocol/errors"
import type { Ports } from "../ports.ts"
import { type Isolation, makeGroup } from "../process/cgroup.ts"
import { sessionEnvironment } from "../process/environment.ts"
import type { ProcessIdentity } from "../process/identity.ts"
import type { Logs } from "../process/logs.ts"
import { type SpawnedProcess, spawnProcess } from "../process/spawn.ts"

export interface LaunchDeps {
  readonly ports: Ports
  readonly config: SupervisorConfiguration
  readonly isolation: Isolation
  readonly logs: Logs
  readonly bootId: string
}

export interface Launch {
  readonly cgroupOf: (process: ProcessIdentity) => string | undefined
  readonly spawn: (process: ProcessIdentity, bootstrap: SessionBootstrap) => Result<SpawnedProcess>
}

export const createLaunch = (deps: LaunchDeps): Launch => {
  const { config, isolation } = deps
  const cgroupOf: Launch["cgroupOf"] = ({ sessionId, generation }) =>
    isolation.kind === "cgroup" ? join(isolation.directory, `${sessionId}-${generation}`) : undefined
  return {
    cgroupOf,
    spawn: (process, bootstrap) => {
      const cgroup = cgroupOf(process)
      if (cgroup !== undefined) makeGroup(cgroup)
      return spawnProcess({
        command: config.sessionHost,
        workingDirectory: config.workspace,
        environment: sessionEnvironment({
          own: deps.ports.environment,
          configured: config.environment,
          markers: { HELMR_SESSION_ID: process.sessionId, HELMR_COMPUTER_ID: config.computerId },
        }),
        cgroup,
        output: deps.logs.open(process),
        bootstrap,
        bootId: deps.bootId,
      })
    },
  }
}
