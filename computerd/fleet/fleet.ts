/**
 * `computerd fleet`: the public API on the command line, with the authority of its key and no other. A signal ends the
 * waiting; what has been asked for goes on.
 */
import type { Failure } from "@computerd/protocol/errors"
import { HelmrClient } from "@helmr/sdk"
import type { FleetCommand } from "../arguments/fleet/command.ts"
import { failureLine } from "../failure.ts"
import { interruptedExitCode } from "../interrupt.ts"
import { writeOut } from "../output.ts"
import type { FleetDeps } from "./deps.ts"
import { exitFailure, failedOf } from "./failure.ts"
import { perform } from "./perform.ts"
import { placeOf } from "./place.ts"

/** A person waits: who cannot be reached within a second is reported. Waits and streams go on for their own time. */
const maxRetries = 2

const refuse = async (error: Failure, { err }: FleetDeps): Promise<number> => {
  await writeOut(err, failureLine(error))
  return exitFailure
}

export const runFleet = async (
  command: Extract<FleetCommand, { readonly verb: "fleet" }>,
  deps: FleetDeps,
): Promise<number> => {
  const { environment, interrupt, err } = deps
  const place = await placeOf({ ...command, environment })
  if (!place.ok) return refuse(place.error, deps)
  try {
    const client = new HelmrClient({ ...place.value, maxRetries, signal: interrupt.stop })
    const exitCode = await perform(client, command, deps)
    if (typeof exitCode === "number") return exitCode
    return await refuse(exitCode, deps)
  } catch (error) {
    if (interrupt.stop.aborted) return interruptedExitCode(interrupt.first() ?? "SIGINT")
    const failed = failedOf(error)
    if (failed === undefined) throw error
    await writeOut(err, failed.line)
    return failed.exitCode
  }
}
