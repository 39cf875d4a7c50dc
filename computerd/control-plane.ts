/** `computerd control-plane`: runs a control plane alone, until a signal comes. */
import { logJournal } from "@computerd/control-plane/journal"
import type { Command } from "./arguments/command.ts"
import { oneLine } from "./dev/view/text.ts"
import { embedControlPlane } from "./embedded.ts"
import { failureLine } from "./failure.ts"
import type { Interrupt } from "./interrupt.ts"
import { writeOut } from "./output.ts"

export interface ControlPlaneDeps {
  readonly interrupt: Interrupt
  readonly out: NodeJS.WriteStream
  readonly err: NodeJS.WriteStream
  readonly environment: Readonly<Record<string, string | undefined>>
}

type ControlPlaneCommand = Extract<Command, { readonly verb: "control-plane" }>

const exitFailure = 1

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener("abort", () => resolve(), { once: true })
  })

export const runControlPlane = async (
  command: ControlPlaneCommand,
  deps: ControlPlaneDeps,
): Promise<number> => {
  const controlPlane = await embedControlPlane({
    stateDirectory: command.state,
    listen: command.listen,
    unenforced: command.unenforced,
    ...(command.capacity === undefined ? {} : { capacity: command.capacity }),
    supervisors: "free",
    environment: deps.environment,
    // Standard output says where to connect.
    journal: logJournal("info", deps.err),
  })
  if (!controlPlane.ok) {
    await writeOut(deps.err, failureLine(controlPlane.error))
    return exitFailure
  }
  await writeOut(deps.out, `${controlPlane.value.url}\n`)
  await aborted(deps.interrupt.stop)
  const left = await Promise.race([
    controlPlane.value.close(),
    aborted(deps.interrupt.kill).then(() => ["it was told to end at once; Computers may still run"]),
  ])
  for (const what of left) await writeOut(deps.err, `computerd: ${oneLine(what)}\n`)
  return left.length === 0 ? 0 : exitFailure
}
