/** What is printed of a settled Turn, and the exit code that says how it ended. */
import type { Content } from "@computerd/protocol/content"
import type { TurnView } from "./view/fleet.ts"
import { oneLine } from "./view/text.ts"

export interface Answer {
  readonly out: string
  readonly error: string
  readonly exitCode: 0 | 1
}

const ended = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`)

const textOf = (content: Content): string => content.map((part) => part.text).join("")

/** For people: the response, else the result. */
const readable = ({ response, result }: TurnView): string =>
  ended(response === undefined ? JSON.stringify(result ?? null, null, 2) : textOf(response))

const json = ({ id, sessionId, status, result, response, error }: TurnView): string =>
  `${JSON.stringify({ sessionId, turnId: id, status, result, response, error })}\n`

const failureOf = ({ status, error }: TurnView): string => {
  const reason =
    error === undefined ? "" : `: ${error.code}${error.message === undefined ? "" : `: ${error.message}`}`
  return `${oneLine(`The Turn ended ${status}${reason}`)}\n`
}

export const answerOf = (turn: TurnView, form: "readable" | "json"): Answer => {
  const completed = turn.status === "completed"
  const out = form === "json" ? json(turn) : completed ? readable(turn) : ""
  return { out, error: completed ? "" : failureOf(turn), exitCode: completed ? 0 : 1 }
}
