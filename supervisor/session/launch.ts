/** Starts the session host for one run, with everything that this Computer gives a Session process. */
import { join } from "node:path"
import type { SessionBootstrap } from "@computerd/protocol/channel"
import type { SupervisorConfiguration } from "@computerd/protocol/configuration"
import type { Result } from "@computerd/protocol/errors"
import type { Journal } from "../journal.ts"
import type { Ports } from "../ports.ts"
import { type Isolation, makeGroup, setGroup } from "../process/cgroup.ts"
import { enableControllers } from "../process/controllers.ts"
import { sessionEnvironment } from "../process/environment.ts"
import type { ProcessIdentity } from "../process/identity.ts"
import { isLimited, settingsOf } from "../process/limits.ts"
import type { Logs } from "../process/logs.ts"
import { type SpawnedProcess, spawnProcess } from "../process/spawn.ts"

export interface LaunchDeps {
  readonly ports: Ports
  readonly journal: Journal
  readonly config: SupervisorConfiguration
  readonly isolation: Isolation
  readonly logs: Logs
  readonly bootId: string
}

export interface Launch {
  readonly cgroupOf: (process: ProcessIdentity) => string | undefined
  readonly spawn: (process: ProcessIdentity, bootstrap: SessionBootstrap) => Result<SpawnedProcess>
}

/**
 * Answers with what makes a group that has the limits of the configuration. Limits that cannot bind are told in the
 * status; Sessions run without them.
 */
const limitGroups = ({ config, isolation, journal }: LaunchDeps): ((cgroup: string) => void) => {
  const { limits } = config
  const noteFailure = (problem: string): void => {
    const reason = `the limits of Sessions are not in force: ${problem}`
    if (isLimited(limits)) journal.record({ event: "care_degraded", aspect: "limits", reason })
  }
  const problem =
    isolation.kind === "cgroup" ? enableControllers(isolation.directory, limits) : isolation.reason
  if (problem !== undefined) noteFailure(problem)
  const settings = problem === undefined ? settingsOf(limits) : []
  return (cgroup) => {
    makeGroup(cgroup)
    const failed = setGroup(cgroup, settings)
    if (failed !== undefined) noteFailure(failed)
  }
}

export const createLaunch = (deps: LaunchDeps): Launch => {
  const { config, isolation, ports } = deps
  const limit = limitGroups(deps)
  const cgroupOf: Launch["cgroupOf"] = ({ sessionId, generation }) =>
    isolation.kind === "cgroup" ? join(isolation.directory, `${sessionId}-${generation}`) : undefined
  return {
    cgroupOf,
    spawn: (process, bootstrap) => {
      const cgroup = cgroupOf(process)
      if (cgroup !== undefined) limit(cgroup)
      return spawnProcess({
        timers: ports.timers,
        command: config.sessionHost,
        workingDirectory: config.workspace,
        environment: sessionEnvironment({
          own: ports.environment,
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
