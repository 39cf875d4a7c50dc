/** Does what a command asks for; the exit code says how it went. */
import { failure } from "@computerd/protocol/errors"
import { runSupervisor } from "@computerd/supervisor/main"
import type { Command } from "./arguments/command.ts"
import { fleetHelp } from "./arguments/fleet/help.ts"
import { help } from "./arguments/help.ts"
import { runControlPlane } from "./control-plane.ts"
import { runDev } from "./dev/dev.ts"
import { failureLine } from "./failure.ts"
import { runFleet } from "./fleet/fleet.ts"
import { runKeys } from "./fleet/keys.ts"
import { createInterrupt, type Interrupt, processSignals } from "./interrupt.ts"
import { tolerateClosedStreams, writeOut } from "./output.ts"
import { systemPorts } from "./ports.ts"
import { watchStarter } from "./starter.ts"
import { statusText } from "./status.ts"
import { version } from "./version.ts"

const exitFailure = 1

const { stdout: out, stderr: err, stdin, env: environment } = process

/**
 * `dev` cleans up after a stray error too, and when nobody waits for it any more. A control plane just ends: its Computers
 * live on until it is back.
 */
const watchedInterrupt = (): Interrupt => {
  const interrupt = createInterrupt(processSignals, watchStarter(process.pid, systemPorts))
  const onFault = (error: unknown): void => {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
    err.write(failureLine(failure("internal", `a fault of this program: ${message}`)))
    interrupt.fault()
  }
  process.on("uncaughtException", onFault)
  process.on("unhandledRejection", onFault)
  return interrupt
}

const showStatus = async (command: Extract<Command, { readonly verb: "status" }>): Promise<number> => {
  const text = await statusText(command.place, command.json ? "json" : "readable", systemPorts)
  await (text.ok ? writeOut(out, text.value) : writeOut(err, failureLine(text.error)))
  return text.ok ? 0 : exitFailure
}

const print = async (text: string): Promise<number> => {
  await writeOut(out, text)
  return 0
}

export const runCommand = (command: Command): number | Promise<number> => {
  tolerateClosedStreams([out, err])
  switch (command.verb) {
    case "help":
      return print(help)
    case "version":
      return print(`${version}\n`)
    case "run":
      return runSupervisor(command.argv, environment)
    case "status":
      return showStatus(command)
    case "fleet help":
      return print(fleetHelp)
    case "fleet":
      return runFleet(command, {
        ports: systemPorts,
        interrupt: createInterrupt(processSignals),
        out,
        err,
        stdin,
        environment,
      })
    case "fleet keys":
      return runKeys(command, { out, err })
    case "control-plane":
      return runControlPlane(command, {
        ports: systemPorts,
        interrupt: createInterrupt(processSignals),
        out,
        err,
        environment,
      })
    case "dev":
      return runDev(command, {
        ports: systemPorts,
        interrupt: watchedInterrupt(),
        out,
        err,
        environment,
      })
  }
}
