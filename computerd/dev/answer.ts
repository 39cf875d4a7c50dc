/** What is printed of a settled Turn, and the exit code that says how it ended. */
import { answerText, failureText } from "../settled-turn.ts"
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

const json = ({ turn, output }: SettledTurn): string => {
  const { id, sessionId, status, result, response, error } = turn
  const written = { output: output.text, ...(output.truncated ? { outputTruncated: true } : {}) }
  return `${JSON.stringify({ sessionId, turnId: id, status, result, response, error, ...written })}\n`
}

export const answerOf = (settled: SettledTurn, form: "readable" | "json"): Answer => {
  const { turn } = settled
  const completed = turn.status === "completed"
  const out = form === "json" ? json(settled) : completed ? answerText(turn) : ""
  return { out, error: completed ? "" : failureText(turn), exitCode: completed ? 0 : 1 }
}
