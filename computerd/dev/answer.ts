/** What is printed of a settled Turn, and the exit code that says how it ended. */
import type { Content } from "@computerd/protocol/content"
import { oneLine } from "../view/text.ts"
import type { TurnOutput } from "./output/turns.ts"
import type { TurnView } from "./view/fleet.ts"

export interface Answer {
  readonly out: string
  readonly error: string
  readonly exitCode: 0 | 1
}

export interface SettledTurn {
  readonly turn: TurnView
  /** What it wrote while it ran. */
  readonly output: TurnOutput
}

const ended = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`)

const textOf = (content: Content): string => content.map((part) => part.text).join("")

/** For people: the response, else the result. */
const readable = ({ response, result }: TurnView): string =>
  ended(response === undefined ? JSON.stringify(result ?? null, null, 2) : textOf(response))

const json = ({ turn, output }: SettledTurn): string => {
  const { id, sessionId, status, result, response, error } = turn
  const written = { output: output.text, ...(output.truncated ? { outputTruncated: true } : {}) }
  return `${JSON.stringify({ sessionId, turnId: id, status, result, response, error, ...written })}\n`
}

const failureOf = ({ status, error }: TurnView): string => {
  const reason =
    error === undefined ? "" : `: ${error.code}${error.message === undefined ? "" : `: ${error.message}`}`
  return `${oneLine(`computerd: the Turn ended ${status}${reason}`)}\n`
}

export const answerOf = (settled: SettledTurn, form: "readable" | "json"): Answer => {
  const { turn } = settled
  const completed = turn.status === "completed"
  const out = form === "json" ? json(settled) : completed ? readable(turn) : ""
  return { out, error: completed ? "" : failureOf(turn), exitCode: completed ? 0 : 1 }
}
