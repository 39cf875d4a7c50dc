/** `computerd control-plane`: runs a control plane alone, until a signal comes. It was asked to end then, which is success. */
import type { ControlPlane } from "@computerd/control-plane/control-plane"
import { logJournal } from "@computerd/control-plane/journal"
import type { Command } from "./arguments/command.ts"
import { embedControlPlane } from "./embedded.ts"
import { aborted, endAtOnce, hearOfComputers } from "./end-at-once.ts"
import { exitFailure } from "./exit-codes.ts"
import { failureLine } from "./failure.ts"
import { endingLine, type Interrupt, interruptedExitCode } from "./interrupt.ts"
import { writeOut } from "./output.ts"
import type { Ports } from "./ports.ts"
import { oneLine } from "./view/text.ts"

export interface ControlPlaneDeps {
  readonly ports: Ports
  readonly interrupt: Interrupt
  readonly out: NodeJS.WriteStream
  readonly err: NodeJS.WriteStream
  readonly environment: Readonly<Record<string, string | undefined>>
}

type ControlPlaneCommand = Extract<Command, { readonly verb: "control-plane" }>

/** In order after the first signal, at once after the second one. */
const end = async (controlPlane: ControlPlane, deps: ControlPlaneDeps): Promise<number> => {
  const { interrupt, err } = deps
  const computers = new Set<string>()
  hearOfComputers(controlPlane, computers)
  await aborted(interrupt.stop)
  await writeOut(err, `${endingLine(interrupt)}\n`)
  const closing = controlPlane.close()
  const left = await Promise.race([closing, aborted(interrupt.kill)])
  if (left === "aborted") {
    await endAtOnce(closing, { computers, stateDirectory: controlPlane.stateDirectory }, deps)
    return interruptedExitCode(interrupt.first() ?? "SIGINT")
  }
  for (const what of left) await writeOut(err, `computerd: ${oneLine(what)}\n`)
  return left.length === 0 ? 0 : exitFailure
}

export const runControlPlane = async (
  command: ControlPlaneCommand,
  deps: ControlPlaneDeps,
): Promise<number> => {
  const controlPlane = await embedControlPlane({
    stateDirectory: command.state,
    listen: command.listen,
    unenforced: command.unenforced,
    ...(command.capacity === undefined ? {} : { capacity: command.capacity }),
    privateRanges: command.privateRanges,
    ...(command.api === undefined ? {} : { api: command.api }),
    supervisors: "free",
    environment: deps.environment,
    // Standard output says where to connect.
    journal: logJournal("info", deps.err),
  })
  if (!controlPlane.ok) {
    await writeOut(deps.err, failureLine(controlPlane.error))
    return exitFailure
  }
  const { url, apiUrl } = controlPlane.value
  await writeOut(deps.out, apiUrl === undefined ? `${url}\n` : `${url}\n${apiUrl}\n`)
  return end(controlPlane.value, deps)
}
