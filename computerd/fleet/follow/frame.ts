/**
 * One frame of a tree of Sessions: each below its owner, with its Turns. Pure. When there is more than fits, each Session
 * shows its newest Turn alone, then what is over is summed up.
 */
import { counted, elapsed, fitted, oneLine, sessionWords, shortId } from "../../view/text.ts"
import type { FrameInput } from "../../view/view.ts"
import type { SeenSession, SeenTurn, Tree } from "./tree.ts"

interface Placed {
  readonly session: SeenSession
  readonly depth: number
}

const turnMark: Readonly<Record<SeenTurn["status"], string>> = {
  queued: "○",
  running: "●",
  completed: "✓",
  failed: "✗",
  interrupted: "✗",
  cancelled: "✗",
}

const markOf = ({ turns }: SeenSession): string => {
  const shown = turns.find(({ status }) => status === "running") ?? turns.at(-1)
  return shown === undefined ? "○" : turnMark[shown.status]
}

/** Owners before what they own. A Session whose owner was not seen stands at the top. */
const placed = (tree: Tree): readonly Placed[] => {
  const children = Map.groupBy([...tree.values()], ({ parentId }) =>
    parentId !== null && tree.has(parentId) ? parentId : null,
  )
  const below = (parent: string | null, depth: number): readonly Placed[] =>
    (children.get(parent) ?? []).flatMap((session) => [{ session, depth }, ...below(session.id, depth + 1)])
  return below(null, 0)
}

const sessionText = ({ id, agent, status, process, holds, questions }: SeenSession): string => {
  const [kind] = holds.values()
  const held = kind === undefined ? "" : `, held (${kind})`
  const asks = questions.size === 0 ? "" : `, ${counted(questions.size, "open question")}`
  return `Session ${shortId(id)} ${agent ?? ""}: ${sessionWords(status, process)}${held}${asks}`
}

const turnText = (turn: SeenTurn, nowMs: number): string => {
  const time = elapsed((turn.settledAtMs ?? nowMs) - (turn.startedAtMs ?? turn.queuedAtMs))
  const reason = turn.errorCode === null ? "" : ` (${turn.errorCode})`
  return oneLine(`Turn ${turn.sequence}: ${turn.status} ${time}${reason}`)
}

const indent = (depth: number): string => "  ".repeat(depth)

const fullLines = ({ session, depth }: Placed, nowMs: number): readonly string[] => [
  `${indent(depth)}${markOf(session)} ${sessionText(session)}`,
  ...session.turns.map((turn) => `${indent(depth + 1)}${turnMark[turn.status]} ${turnText(turn, nowMs)}`),
]

const shortLine = ({ session, depth }: Placed, nowMs: number): string => {
  const turn = session.turns.find(({ status }) => status === "running") ?? session.turns.at(-1)
  const what = turn === undefined ? "" : ` · ${turnText(turn, nowMs)}`
  return `${indent(depth)}${markOf(session)} ${sessionText(session)}${what}`
}

/** The newest Sessions: what has closed long ago is looked for elsewhere. */
const cut = (lines: readonly string[], room: number): readonly string[] => {
  const kept = Math.max(0, room - 1)
  const omitted = lines.length - kept
  return [`  and ${counted(omitted, "Session")} before`, ...(kept === 0 ? [] : lines.slice(-kept))]
}

const body = (all: readonly Placed[], room: number, nowMs: number): readonly string[] => {
  const full = all.flatMap((one) => fullLines(one, nowMs))
  if (full.length <= room) return full
  const short = all.map((one) => shortLine(one, nowMs))
  return short.length <= room ? short : cut(short, room)
}

export interface TreeFrame extends FrameInput {
  readonly tree: Tree
  readonly nowMs: number
}

export const sessionFrame = ({
  tree,
  nowMs,
  startedAtMs,
  screen,
  interrupted,
}: TreeFrame): readonly string[] => {
  const running = [...tree.values()]
    .flatMap(({ turns }) => turns)
    .filter(({ status }) => status === "running")
  const head = [
    ...(interrupted ? ["no longer followed"] : []),
    counted(tree.size, "Session"),
    `${counted(running.length, "Turn")} running`,
    elapsed(nowMs - startedAtMs),
  ].join(" · ")
  // The last row stays free for the cursor, the last column so that no terminal wraps.
  const lines = [head, ...body(placed(tree), Math.max(1, screen.rows - 2), nowMs)]
  return lines.map((line) => fitted(line, Math.max(10, screen.columns - 1)))
}
