/** Writes the configuration file of a Computer's supervisor. */
import { SupervisorConfiguration } from "@computerd/protocol/configuration"
import type { ComputerId } from "@computerd/protocol/ids"
import { writeDurably } from "../../durable.ts"
import type { ComputerDirectory } from "./directory.ts"
import type { PortAllocation } from "./port-allocation.ts"

export interface SupervisorSettings {
  readonly portAllocation: PortAllocation
  readonly controlPlaneUrl: string
  readonly sessionHostCommand: readonly string[]
  readonly lifeline: boolean
}

/** Written before each start: the address of the control plane may have changed since the last one. */
export const writeConfiguration = async (
  id: ComputerId,
  directory: ComputerDirectory,
  given: SupervisorSettings,
): Promise<void> => {
  const configuration = SupervisorConfiguration.parse({
    computerId: id,
    controlPlaneUrl: given.controlPlaneUrl,
    credentialFile: directory.credential,
    stateDirectory: directory.state,
    workspace: directory.workspace,
    ports: given.portAllocation.allocate(id),
    sessionHost: [...given.sessionHostCommand],
    lifeline: given.lifeline,
  })
  await writeDurably(directory.configuration, `${JSON.stringify(configuration, null, 2)}\n`)
}
