/**
 * One frame of the live tree: Computers, their Sessions, their Turns. Pure: a snapshot and the size of the screen in,
 * lines out. When there is more than fits, first a Computer shrinks to one line, then what is over is summed up.
 */
import { framed } from "../../view/framed.ts"
import { mark, type Progress, turnProgress } from "../../view/progress.ts"
import { counted, elapsed, errorText, oneLine, sessionWords, shortId } from "../../view/text.ts"
import type { FrameInput } from "../../view/view.ts"
import type { ComputerRow, FleetSnapshot, SessionView, TurnView } from "./fleet.ts"

interface Group {
  readonly computer: ComputerRow
  readonly sessions: readonly SessionView[]
  readonly progress: Progress
}

/** What is cut last. */
const importance: Readonly<Record<Progress, number>> = { running: 0, failed: 1, waiting: 2, done: 3 }

const mostImportant = (progresses: readonly Progress[]): Progress =>
  [...progresses].sort((a, b) => importance[a] - importance[b])[0] ?? "waiting"

const sessionProgress = (session: SessionView): Progress =>
  mostImportant(session.turns.map(({ status }) => turnProgress(status)))

const groups = ({ computers, sessions }: FleetSnapshot): readonly Group[] =>
  [...computers]
    .sort((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1))
    .map((computer) => {
      const own = sessions
        .filter((session) => session.computerId === computer.id)
        .sort((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1))
      return { computer, sessions: own, progress: mostImportant(own.map(sessionProgress)) }
    })

const turnTime = (turn: TurnView, nowMs: number): string =>
  elapsed((turn.settledAtMs ?? nowMs) - (turn.startedAtMs ?? turn.createdAtMs))

const turnState = (turn: TurnView, nowMs: number): string => {
  const reason =
    turn.error !== undefined
      ? ` (${errorText(turn.error)})`
      : turn.status === "queued" && turn.waitingFor !== null
        ? ` (${turn.waitingFor})`
        : ""
  return oneLine(`${turn.status} ${turnTime(turn, nowMs)}${reason}`)
}

const computerState = ({ status, residency, error }: ComputerRow): string => {
  const state = status === "available" ? residency : status
  return oneLine(error === null ? state : `${state} (${error})`)
}

const sessionState = (session: SessionView): string => {
  const held = session.holds[0] === undefined ? "" : `, held (${session.holds[0].kind})`
  return `${sessionWords(session.status, session.process)}${held}`
}

const fullLines = ({ computer, sessions, progress }: Group, nowMs: number): readonly string[] => [
  `${mark[progress]} Computer ${shortId(computer.id)} ${computer.template}: ${computerState(computer)}`,
  ...sessions.flatMap((session) => [
    `  ${mark[sessionProgress(session)]} Session ${shortId(session.id)} ${session.agent}: ${sessionState(session)}`,
    ...session.turns.map(
      (turn) => `    ${mark[turnProgress(turn.status)]} Turn ${turn.sequence}: ${turnState(turn, nowMs)}`,
    ),
  ]),
]

const shortLine = ({ computer, sessions, progress }: Group, nowMs: number): string => {
  const session = sessions.at(-1)
  const turn = session?.turns.at(-1)
  const what = [
    `${shortId(computer.id)} ${computerState(computer)}`,
    ...(session === undefined ? [] : [`${session.agent} ${sessionState(session)}`]),
    ...(turn === undefined ? [] : [turnState(turn, nowMs)]),
  ]
  return `${mark[progress]} ${what.join(" · ")}`
}

const summary = (omitted: readonly Group[]): string => {
  const names: Readonly<Record<Progress, string>> = {
    running: "running",
    failed: "failed",
    waiting: "waiting",
    done: "done",
  }
  const counts = (["running", "failed", "waiting", "done"] as const)
    .map(
      (progress) => [omitted.filter((group) => group.progress === progress).length, names[progress]] as const,
    )
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${count} ${name}`)
  return `  and ${omitted.length} more: ${counts.join(", ")}`
}

/** The most important ones, in their own order, and a line for the others. */
const cut = (all: readonly Group[], lines: number, nowMs: number): readonly string[] => {
  const chosen = new Set(
    [...all].sort((a, b) => importance[a.progress] - importance[b.progress]).slice(0, Math.max(0, lines - 1)),
  )
  const omitted = all.filter((group) => !chosen.has(group))
  return [
    ...all.filter((group) => chosen.has(group)).map((group) => shortLine(group, nowMs)),
    summary(omitted),
  ]
}

const body = (all: readonly Group[], lines: number, nowMs: number): readonly string[] => {
  const full = all.flatMap((group) => fullLines(group, nowMs))
  if (full.length <= lines) return full
  const short = all.map((group) => shortLine(group, nowMs))
  return short.length <= lines ? short : cut(all, lines, nowMs)
}

export interface TreeInput extends FrameInput {
  readonly snapshot: FleetSnapshot
}

export const treeFrame = ({ snapshot, startedAtMs, screen, interrupted }: TreeInput): readonly string[] => {
  const all = groups(snapshot)
  const running = snapshot.sessions
    .flatMap((session) => session.turns)
    .filter((turn) => turn.status === "running")
  const head = [
    ...(interrupted ? ["interrupted"] : []),
    counted(all.length, "Computer"),
    counted(snapshot.sessions.length, "Session"),
    `${counted(running.length, "Turn")} running`,
    elapsed(snapshot.atMs - startedAtMs),
  ].join(" · ")
  return framed(head, (room) => body(all, room, snapshot.atMs), screen)
}
