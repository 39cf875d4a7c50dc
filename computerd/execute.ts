/**
 * Does what a command asks for; the exit code says how it went. Each verb loads its own part: who asks for a status or for
 * a fleet waits for neither a supervisor nor a control plane.
 */
import { failure } from "@computerd/protocol/errors"
import type { Command } from "./arguments/command.ts"
import { exitFailure } from "./exit-codes.ts"
import { failureLine } from "./failure.ts"
import { createInterrupt, type Interrupt, processSignals } from "./interrupt.ts"
import { tolerateClosedStreams, writeOut } from "./output.ts"
import { systemPorts } from "./ports.ts"
import { watchStarter } from "./starter.ts"

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
  const { statusText } = await import("./status.ts")
  const text = await statusText(command.place, command.json ? "json" : "readable", systemPorts)
  await (text.ok ? writeOut(out, text.value) : writeOut(err, failureLine(text.error)))
  return text.ok ? 0 : exitFailure
}

const print = async (text: string): Promise<number> => {
  await writeOut(out, text)
  return 0
}

export const runCommand = async (command: Command): Promise<number> => {
  tolerateClosedStreams([out, err])
  switch (command.verb) {
    case "help":
      return print((await import("./arguments/help.ts")).help)
    case "fleet help":
      return print((await import("./arguments/fleet/help.ts")).fleetHelp)
    case "version":
      return print(`${(await import("./version.ts")).version}\n`)
    case "run": {
      const { runSupervisor } = await import("@computerd/supervisor/main")
      return runSupervisor(command.argv, environment)
    }
    case "status":
      return showStatus(command)
    case "fleet": {
      const { runFleet } = await import("./fleet/fleet.ts")
      const interrupt = createInterrupt(processSignals)
      return runFleet(command, { ports: systemPorts, interrupt, out, err, stdin, environment })
    }
    case "fleet keys": {
      const { runKeys } = await import("./fleet/keys.ts")
      return runKeys(command, { out, err })
    }
    case "control-plane": {
      const interrupt = createInterrupt(processSignals)
      const { runControlPlane } = await import("./control-plane.ts")
      return runControlPlane(command, { ports: systemPorts, interrupt, out, err, environment })
    }
    case "dev": {
      const interrupt = watchedInterrupt()
      const { runDev } = await import("./dev/dev.ts")
      return runDev(command, { ports: systemPorts, interrupt, out, err, environment })
    }
  }
}
