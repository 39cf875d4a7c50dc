/**
 * The process around a supervisor: its signals, its standard streams and its exit code. Signal handlers come before
 * everything else, since the first process of a machine ignores signals that it does not handle.
 */
import { type Failure, failure } from "@computerd/protocol/errors"
import type { Environment } from "./config/environment.ts"
import { resolveConfiguration } from "./config/resolve.ts"
import { taintOf } from "./config/taint.ts"
import { createDaemon } from "./daemon.ts"
import { createJournal, type Journal, pinoSink } from "./journal.ts"
import manifest from "./package.json" with { type: "json" }
import { type Ports, systemPorts } from "./ports.ts"
import { becomeSubreaper } from "./process/kernel.ts"
import { startReaper } from "./process/reaper.ts"

const exitUsage = 2
/** As in sysexits.h. */
const exitConfiguration = 78
const exitTemporary = 75
const exitFailure = 1
const standardError = 2
const orphansEndMs = 1_000

/** `abandon`: nothing can be ended in order any more; the next supervisor takes over what runs. */
type End = { readonly cause: string; readonly code: number; readonly how: "in_order" | "abandon" }

const exitCodeOf = ({ code }: Failure): number => {
  if (code === "invalid_arguments") return exitUsage
  if (code === "invalid_configuration") return exitConfiguration
  return code === "already_running" ? exitTemporary : exitFailure
}

const report = (error: Failure): number => {
  process.stderr.write(`computerd: ${error.code}: ${error.message}\n`)
  return exitCodeOf(error)
}

/** The first reason to end, from outside or from a fault of our own. */
const watchForEnd = (journal: () => Journal | undefined) => {
  const { promise: ended, resolve } = Promise.withResolvers<End>()
  const onSignal = (signal: NodeJS.Signals): void => resolve({ cause: signal, code: 0, how: "in_order" })
  const onFault = (error: unknown): void => {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
    journal()?.record({ event: "unhandled_fault", message })
    resolve({ cause: "unhandled fault", code: exitFailure, how: "in_order" })
  }
  const signals = ["SIGTERM", "SIGINT", "SIGHUP"] as const
  for (const signal of signals) process.on(signal, onSignal)
  process.on("unhandledRejection", onFault)
  process.on("uncaughtException", onFault)
  return {
    ended,
    end: resolve,
    release: () => {
      for (const signal of signals) process.off(signal, onSignal)
      process.off("unhandledRejection", onFault)
      process.off("uncaughtException", onFault)
    },
  }
}

/** Standard input belongs to whoever started this process; when it ends, that one is gone. */
const watchLifeline = (end: (reason: End) => void): void => {
  const gone = (): void => end({ cause: "lifeline", code: 0, how: "in_order" })
  process.stdin.on("end", gone)
  process.stdin.on("close", gone)
  process.stdin.on("error", gone)
  process.stdin.resume()
}

const noteTaint = (journal: Journal, environment: Environment): void => {
  const names = taintOf(environment)
  if (names.length === 0) return
  const reason = `it was started with ${names.join(", ")}, by which others may run code in it; start it without`
  journal.record({ event: "care_degraded", aspect: "environment", reason })
}

/** Runs a supervisor until it is told to stop; answers with the exit code. A test may give it other ports. */
export const runSupervisor = async (
  argv: readonly string[],
  environment: Environment,
  ports: Ports = systemPorts(environment),
): Promise<number> => {
  let journal: Journal | undefined
  const { ended, end, release } = watchForEnd(() => journal)
  try {
    const config = await resolveConfiguration({ argv, environment })
    if (!config.ok) return report(config.error)
    if (config.value.lifeline) watchLifeline(end)
    journal = createJournal(ports.clock, [pinoSink({ level: config.value.logLevel, fd: standardError })])
    // Relative paths of the command line are resolved by now; nothing of a folder we happen to be in matters.
    process.chdir("/")
    const { version } = manifest
    const timersDead = (): void => end({ cause: "timers are dead", code: exitFailure, how: "abandon" })
    const daemon = await createDaemon({
      ...{ config: config.value, ports, journal, version, pid: process.pid, timersDead },
    })
    if (!daemon.ok) return report(daemon.error)
    noteTaint(journal, environment)
    becomeSubreaper()
    const { started } = daemon.value
    const reaper = startReaper({ timers: ports.timers, isOwn: (pid) => started().includes(pid) })
    const { cause, code, how } = await ended
    if (how === "abandon") return code
    const failed = await daemon.value.stop(cause)
    reaper.close()
    const orphans = await reaper.endOrphans(orphansEndMs)
    return failed.length + orphans.length === 0 ? code : Math.max(code, exitFailure)
  } catch (error) {
    return report(failure("internal", error instanceof Error ? error.message : String(error)))
  } finally {
    release()
  }
}
