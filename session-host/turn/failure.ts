/** Failures as this package makes them (`protocol/errors.ts` loads zod), and the words of errors that authors throw. Pure. */
import type { ErrorCode, Failure, Result } from "@computerd/protocol/errors"
import { HelmrError } from "@helmr/sdk/error"

/** Of a message that leaves the process; a stack or a dump is for standard error. */
const messageMaxLength = 4_096

export const failure = (code: ErrorCode, message: string): Failure => ({ code, message })
export const fail = (code: ErrorCode, message: string): Result<never> => ({
  ok: false,
  error: failure(code, message),
})

const bounded = (text: string): string =>
  text.length <= messageMaxLength ? text : `${text.slice(0, messageMaxLength - 1)}…`.toWellFormed()

const wordsOf = (thrown: unknown): string => {
  if (thrown instanceof HelmrError) return `${thrown.code}: ${thrown.message}`
  if (thrown instanceof Error) return thrown.message === "" ? thrown.name : thrown.message
  if (typeof thrown === "string") return thrown
  const message: unknown =
    typeof thrown === "object" && thrown !== null ? Reflect.get(thrown, "message") : undefined
  return typeof message === "string" ? message : `threw ${Bun.inspect(thrown, { depth: 1, compact: true })}`
}

/** One bounded text for whatever was thrown; never a stack, and never an exception of its own. */
export const messageOf = (thrown: unknown): string => {
  try {
    return bounded(String(wordsOf(thrown))) || "threw an empty message"
  } catch {
    return "threw a value that cannot be shown"
  }
}
