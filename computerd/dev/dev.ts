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
import { aborted, endAtOnce, hearOfComputers } from "../end-at-once.ts"
import { exitFailure } from "../exit-codes.ts"
import { failureLine } from "../failure.ts"
import { endingLine, type Interrupt, interruptedExitCode } from "../interrupt.ts"
import { writeAnswer, writeOut } from "../output.ts"
import type { Ports } from "../ports.ts"
import { showWork } from "../view/show.ts"
import { oneLine } from "../view/text.ts"
import { answerOf } from "./answer.ts"
import { createNotices, type Notices } from "./notices.ts"
import { consoleFolders, showConsole } from "./output/console.ts"
import { showTurns, type TurnOutput } from "./output/turns.ts"
import { openStateDirectory } from "./state.ts"
import type { TurnView } from "./view/fleet.ts"
import { fleetSubject } from "./view/subject.ts"
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

interface Work extends DevDeps {
  readonly notices: Notices
}

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
  { interrupt: { stop }, notices }: Work,
): Promise<Result<void>> => {
  await notices.say(`Publishing ${oneLine(program)}`)
  const published = await controlPlane.publish(program, { variables, signal: stop })
  stop.throwIfAborted()
  if (!published.ok) return published
  for (const notice of published.value.notices) await notices.say(`computerd: ${oneLine(notice)}`)
  return ok(undefined)
}

interface FirstTurn {
  readonly turn: TurnView
  readonly output: TurnOutput
}

const runFirstTurn = async (
  controlPlane: ControlPlane,
  command: DevCommand,
  work: Work,
): Promise<Result<FirstTurn>> => {
  const { ports, interrupt } = work
  const view = showWork(fleetSubject(controlPlane), {
    ...work,
    interrupted: () => interrupt.first() !== undefined,
  })
  const turns = showTurns(controlPlane, view)
  const closers = [
    work.notices.through(view),
    turns.close,
    showConsole(controlPlane, view, { stateDirectory: controlPlane.stateDirectory, ports }),
    view.close,
  ]
  try {
    const started = start(controlPlane, command)
    if (!started.ok) return started
    turns.keep(started.value.turnId)
    const { unenforced } = command
    const turn = await waitForTurn(controlPlane, started.value, { ports, unenforced, signal: interrupt.stop })
    return turn.ok ? ok({ turn: turn.value, output: turns.kept() }) : turn
  } finally {
    for (const close of closers) close()
  }
}

/** The exit code of a Turn that settled; rejects once a signal has come. */
const runProgram = async (
  controlPlane: ControlPlane,
  command: DevCommand,
  work: Work,
): Promise<Result<number>> => {
  const published = await publish(controlPlane, command, work)
  if (!published.ok) return published
  const first = await runFirstTurn(controlPlane, command, work)
  if (!first.ok) return first
  const { turn, output } = first.value
  const answer = answerOf({ turn, output }, command.json ? "json" : "readable")
  await writeOut(work.err, answer.error)
  await writeAnswer(work.out, answer.out)
  return ok(answer.exitCode)
}

const report = async (result: Result<number>, deps: DevDeps): Promise<number> => {
  if (result.ok) return result.value
  await writeOut(deps.err, failureLine(result.error))
  return exitFailure
}

/** Closes what it opened, also when a signal comes in the middle (D1). */
const runWith = async (controlPlane: ControlPlane, command: DevCommand, deps: Work): Promise<number> => {
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

const begin = (stateDirectory: string, command: DevCommand, deps: Work): Running => {
  const computers = new Set<string>()
  const run = async (): Promise<number> => {
    const controlPlane = await embedControlPlane({
      stateDirectory,
      listen: { hostname: "127.0.0.1", port: 0 },
      unenforced: command.unenforced,
      ...(command.capacity === undefined ? {} : { capacity: command.capacity }),
      privateRanges: command.privateRanges,
      supervisors: "held",
      environment: deps.environment,
      journal: silentJournal,
    })
    if (!controlPlane.ok) return report(controlPlane, deps)
    hearOfComputers(controlPlane.value, computers)
    return runWith(controlPlane.value, command, deps)
  }
  return { exitCode: run(), computers }
}

export const runDev = async (command: DevCommand, deps: DevDeps): Promise<number> => {
  const state = await openStateDirectory(command.state)
  if (!state.ok) return report(state, deps)
  const { path: stateDirectory, release } = state.value
  const { interrupt, err } = deps
  const notices = createNotices(err)
  // Before whatever else the signal ends, and so above the last frame.
  interrupt.stop.addEventListener("abort", () => void notices.say(endingLine(interrupt)), { once: true })
  try {
    const { exitCode, computers } = begin(stateDirectory, command, { ...deps, notices })
    const outcome = await Promise.race([exitCode, aborted(interrupt.kill)])
    if (outcome !== "aborted") {
      if (command.state !== undefined)
        await notices.say(`computerd: logs are in ${consoleFolders(stateDirectory)}`)
      return outcome
    }
    await endAtOnce(exitCode, { computers, stateDirectory }, deps)
    return interruptedExitCode(interrupt.first() ?? "SIGINT")
  } finally {
    await release()
  }
}
