/** What is printed of a Turn that has settled, and the exit code that says how it ended. Pure. */
import type { Outcome } from "@helmr/sdk"
import { oneLine } from "../view/text.ts"
import { exitFailure } from "./failure.ts"

export interface PrintedOutcome {
  readonly out: string
  readonly err: string
  readonly exitCode: number
}

const ended = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`)

/** For people: the response, else the result. */
const readable = ({ response, result, payloadExpiredAt }: Outcome): string => {
  if (payloadExpiredAt !== undefined) return ""
  return ended(
    response === undefined
      ? JSON.stringify(result ?? null, null, 2)
      : response.map(({ text }) => text).join(""),
  )
}

const reasonOf = ({ status, error, payloadExpiredAt }: Outcome): string => {
  if (status === "completed")
    return payloadExpiredAt === undefined ? "" : `the Turn's result was kept until ${payloadExpiredAt}`
  const because = error === undefined ? "" : `: ${[error.code, error.message].filter(Boolean).join(": ")}`
  return `the Turn ended ${status}${because}`
}

export const printedOutcome = (
  outcome: Outcome,
  form: { readonly json: boolean; readonly names: Readonly<Record<string, string>> },
): PrintedOutcome => {
  const reason = reasonOf(outcome)
  const completed = outcome.status === "completed"
  return {
    out: form.json
      ? `${JSON.stringify({ ...form.names, ...outcome })}\n`
      : completed
        ? readable(outcome)
        : "",
    err: reason === "" ? "" : `computerd: ${oneLine(reason)}\n`,
    exitCode: completed ? 0 : exitFailure,
  }
}
