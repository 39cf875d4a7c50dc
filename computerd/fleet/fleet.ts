/**
 * `computerd fleet`: the public API on the command line, with the authority of its key and no other. A signal ends the
 * waiting; what has been asked for goes on.
 */
import type { Failure } from "@computerd/protocol/errors"
import { HelmrClient } from "@helmr/sdk"
import type { FleetCommand } from "../arguments/fleet/command.ts"
import { exitFailure } from "../exit-codes.ts"
import { failureLine } from "../failure.ts"
import { interruptedExitCode } from "../interrupt.ts"
import { writeOut } from "../output.ts"
import type { FleetDeps } from "./deps.ts"
import { failedOf } from "./failure.ts"
import { perform } from "./perform.ts"
import { placeOf } from "./place.ts"
import { unlessAborted } from "./unless-aborted.ts"

/** A person waits: who cannot be reached within a second is reported. Waits and streams go on for their own time. */
const maxRetries = 2

const refuse = async (error: Failure, { err }: FleetDeps): Promise<number> => {
  await writeOut(err, failureLine(error))
  return exitFailure
}

type Asked = Extract<FleetCommand, { readonly verb: "fleet" }>

const run = async (command: Asked, deps: FleetDeps): Promise<number> => {
  const { environment, interrupt } = deps
  const place = await placeOf({ ...command, environment })
  if (!place.ok) return refuse(place.error, deps)
  const client = new HelmrClient({ ...place.value, maxRetries, signal: interrupt.stop })
  const exitCode = await perform(client, command, deps)
  return typeof exitCode === "number" ? exitCode : refuse(exitCode, deps)
}

export const runFleet = async (command: Asked, deps: FleetDeps): Promise<number> => {
  const { interrupt, err } = deps
  try {
    // The second signal also ends what is still being said to a reader that has stopped.
    return await unlessAborted(run(command, deps), interrupt.kill)
  } catch (error) {
    if (interrupt.stop.aborted) return interruptedExitCode(interrupt.first() ?? "SIGINT")
    const failed = failedOf(error)
    if (failed === undefined) throw error
    await writeOut(err, failed.line)
    return failed.exitCode
  }
}
