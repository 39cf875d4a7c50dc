/** What is printed of a Turn that has settled, and the exit code that says how it ended. Pure. */
import type { Outcome } from "@helmr/sdk"
import { exitFailure } from "../exit-codes.ts"
import { answerText, failureText } from "../settled-turn.ts"

export interface PrintedOutcome {
  readonly out: string
  readonly err: string
  readonly exitCode: number
}

const noticeOf = (outcome: Outcome): string => {
  const { status, payloadExpiredAt } = outcome
  if (status !== "completed") return failureText(outcome)
  return payloadExpiredAt === undefined
    ? ""
    : `computerd: the Turn's result was kept until ${payloadExpiredAt}\n`
}

export const printedOutcome = (
  outcome: Outcome,
  form: { readonly json: boolean; readonly names: Readonly<Record<string, string>> },
): PrintedOutcome => {
  const completed = outcome.status === "completed"
  const isThere = completed && outcome.payloadExpiredAt === undefined
  const readable = isThere ? answerText(outcome) : ""
  return {
    out: form.json ? `${JSON.stringify({ ...form.names, ...outcome })}\n` : readable,
    err: noticeOf(outcome),
    exitCode: completed ? 0 : exitFailure,
  }
}
