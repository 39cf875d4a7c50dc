/**
 * One frame of a tree of Sessions: each below its owner, with its Turns. Pure. When there is more than fits, each Session
 * shows its newest Turn alone, then what is over is summed up.
 */
import { framed } from "../../view/framed.ts"
import { mark, turnProgress } from "../../view/progress.ts"
import { counted, elapsed, oneLine, sessionWords, shortId } from "../../view/text.ts"
import type { FrameInput } from "../../view/view.ts"
import type { SeenSession, SeenTurn, Tree } from "./tree.ts"

interface Placed {
  readonly session: SeenSession
  readonly depth: number
}

const turnMark = ({ status }: SeenTurn): string => mark[turnProgress(status)]

/** The one that says most of its Session. */
const foremost = ({ turns }: SeenSession): SeenTurn | undefined =>
  turns.find(({ status }) => status === "running") ?? turns.at(-1)

const markOf = (session: SeenSession): string => {
  const turn = foremost(session)
  return turn === undefined ? mark.waiting : turnMark(turn)
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
  ...session.turns.map((turn) => `${indent(depth + 1)}${turnMark(turn)} ${turnText(turn, nowMs)}`),
]

const shortLine = ({ session, depth }: Placed, nowMs: number): string => {
  const turn = foremost(session)
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
  return framed(head, (room) => body(placed(tree), room, nowMs), screen)
}
