/**
 * `computerd dev`: an embedded control plane, one program, one Session, its first Turn, and nothing left behind.
 *
 * D1 whatever happens, and whenever, the control plane is closed before its state directory is removed
 * D2 the first signal ends the work in order, the second one kills what is left; both clean up
 */
import type { ControlPlane } from "@computerd/control-plane/control-plane"
import { silentJournal } from "@computerd/control-plane/journal"
import { ok, type Result } from "@computerd/protocol/errors"
import { EnvironmentKey } from "@computerd/protocol/ids"
import type { DevCommand } from "../arguments/command.ts"
import { embedControlPlane } from "../embedded.ts"
import { failureLine } from "../failure.ts"
import { type Interrupt, interruptedExitCode } from "../interrupt.ts"
import { writeOut } from "../output.ts"
import type { Ports } from "../ports.ts"
import { answerOf } from "./answer.ts"
import { killEverything } from "./kill.ts"
import { openStateDirectory } from "./state.ts"
import type { TurnView } from "./view/fleet.ts"
import { showWork } from "./view/show.ts"
import { oneLine } from "./view/text.ts"
import { waitForTurn } from "./wait.ts"

export interface DevDeps {
  readonly ports: Ports
  readonly interrupt: Interrupt
  /** The response goes here. */
  readonly out: NodeJS.WriteStream
  /** What runs, notices and errors go here. */
  readonly err: NodeJS.WriteStream
  readonly environment: Readonly<Record<string, string | undefined>>
}

const exitFailure = 1
const environment = EnvironmentKey.parse("default")

const start = (controlPlane: ControlPlane, command: DevCommand) =>
  controlPlane.startSession({
    environment,
    agent: command.agent,
    input: [{ type: "text", text: command.input }],
    idempotencyKey: `dev:${crypto.randomUUID()}`,
  })

const publish = async (
  controlPlane: ControlPlane,
  { program, variables }: DevCommand,
  deps: DevDeps,
): Promise<Result<void>> => {
  const { stop } = deps.interrupt
  await writeOut(deps.err, `Publishing ${oneLine(program)}\n`)
  const published = await controlPlane.publish(program, { variables, signal: stop })
  stop.throwIfAborted()
  if (!published.ok) return published
  for (const notice of published.value.notices) await writeOut(deps.err, `computerd: ${oneLine(notice)}\n`)
  return ok(undefined)
}

const runFirstTurn = async (
  controlPlane: ControlPlane,
  command: DevCommand,
  deps: DevDeps,
): Promise<Result<TurnView>> => {
  const { ports, interrupt } = deps
  const view = showWork(controlPlane, deps)
  try {
    const started = start(controlPlane, command)
    if (!started.ok) return started
    return await waitForTurn(controlPlane, started.value, { ports, signal: interrupt.stop })
  } finally {
    view.close()
  }
}

/** The exit code of a Turn that settled; rejects once a signal has come. */
const runProgram = async (
  controlPlane: ControlPlane,
  command: DevCommand,
  deps: DevDeps,
): Promise<Result<number>> => {
  const published = await publish(controlPlane, command, deps)
  if (!published.ok) return published
  const turn = await runFirstTurn(controlPlane, command, deps)
  if (!turn.ok) return turn
  const answer = answerOf(turn.value, command.json ? "json" : "readable")
  await writeOut(deps.err, answer.error)
  await writeOut(deps.out, answer.out)
  return ok(answer.exitCode)
}

const report = async (result: Result<number>, deps: DevDeps): Promise<number> => {
  if (result.ok) return result.value
  await writeOut(deps.err, failureLine(result.error))
  return exitFailure
}

/** Closes what it opened, also when a signal comes in the middle (D1). */
const runWith = async (controlPlane: ControlPlane, command: DevCommand, deps: DevDeps): Promise<number> => {
  let exitCode = exitFailure
  try {
    exitCode = await report(await runProgram(controlPlane, command, deps), deps)
  } catch (error) {
    if (!deps.interrupt.stop.aborted) throw error
    const signal = deps.interrupt.first()
    exitCode = signal === undefined ? exitFailure : interruptedExitCode(signal)
  } finally {
    const left = await controlPlane.close()
    for (const what of left) await writeOut(deps.err, `computerd: ${oneLine(what)}\n`)
    if (left.length > 0 && exitCode === 0) exitCode = exitFailure
  }
  return exitCode
}

interface Running {
  readonly exitCode: Promise<number>
  /** The Computers that have been heard of so far. */
  readonly computers: ReadonlySet<string>
}

const begin = (stateDirectory: string, command: DevCommand, deps: DevDeps): Running => {
  const computers = new Set<string>()
  const run = async (): Promise<number> => {
    const controlPlane = await embedControlPlane({
      stateDirectory,
      listen: { hostname: "127.0.0.1", port: 0 },
      unenforced: command.unenforced,
      ...(command.capacity === undefined ? {} : { capacity: command.capacity }),
      supervisors: "held",
      environment: deps.environment,
      journal: silentJournal,
    })
    if (!controlPlane.ok) return report(controlPlane, deps)
    for (const { id } of controlPlane.value.snapshot().computers) computers.add(id)
    controlPlane.value.onEvent((event) => {
      if (event.type === "computer_changed") computers.add(event.computerId)
    })
    return runWith(controlPlane.value, command, deps)
  }
  return { exitCode: run(), computers }
}

const aborted = (signal: AbortSignal): Promise<"killed"> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve("killed"), { once: true }))

/** With every process dead an orderly close has little left to do. */
const closeAfterKillMs = 2_000

const endAtOnce = async ({ exitCode, computers }: Running, deps: DevDeps): Promise<void> => {
  await killEverything(computers, deps.ports)
  const late = new Promise<void>((resolve) => deps.ports.after(closeAfterKillMs, resolve))
  await Promise.race([exitCode.catch(() => undefined), late])
  // What was being started in that moment.
  const left = await killEverything(computers, deps.ports)
  if (left.length > 0) await writeOut(deps.err, `computerd: still running: ${left.join(", ")}\n`)
}

export const runDev = async (command: DevCommand, deps: DevDeps): Promise<number> => {
  const state = await openStateDirectory(command.state)
  if (!state.ok) return report(state, deps)
  try {
    const running = begin(state.value.path, command, deps)
    const outcome = await Promise.race([running.exitCode, aborted(deps.interrupt.kill)])
    if (outcome !== "killed") return outcome
    await endAtOnce(running, deps)
    return interruptedExitCode(deps.interrupt.first() ?? "SIGINT")
  } finally {
    await state.value.release()
  }
}
