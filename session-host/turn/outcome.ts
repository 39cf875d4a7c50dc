/** How a Turn ended, from what its handler did. Pure but for reading what the handler returned. */
import type { TurnOutcome } from "@computerd/protocol/content"
import type { Failure } from "@computerd/protocol/errors"
import { outcomeMaxBytes } from "@computerd/protocol/limits"
import { failure, messageOf } from "./failure.ts"
import { notJsonText, strictJson } from "./json.ts"
import type { Response } from "./response.ts"

export type HandlerEnd =
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly error: unknown }

/** Why a Turn was told to stop. */
export type StopCause = "shutdown" | "interrupted" | "cancelled"

const stopFailures: { readonly [Cause in StopCause]: Failure } = {
  shutdown: failure("session_shutdown", "The Session process was asked to end while the Turn ran."),
  interrupted: failure("interrupted", "The Turn was interrupted."),
  cancelled: failure("cancelled", "The Turn was cancelled."),
}

export const stopFailure = (cause: StopCause): Failure => stopFailures[cause]

const strength: { readonly [Cause in StopCause]: number } = { shutdown: 0, interrupted: 1, cancelled: 2 }

/** A later request may say more than an earlier one: a cancel after an interrupt settles as cancelled. */
export const stronger = (one: StopCause, other: StopCause): StopCause =>
  strength[one] >= strength[other] ? one : other

const failed = (code: string, message: string): TurnOutcome => ({
  status: "failed",
  error: { code, message },
})

const completed = (value: unknown, response: Response): TurnOutcome => {
  const strict = strictJson(value === undefined ? null : value, outcomeMaxBytes)
  switch (strict.kind) {
    case "not_json":
      return failed("result_not_json", `The handler returned ${notJsonText(strict)}, which JSON cannot hold.`)
    case "too_large":
      return failed("result_too_large", `The result takes more than ${strict.maxBytes} bytes of JSON.`)
    case "ok":
      return response.kind === "given"
        ? { status: "completed", result: strict.value, response: [...response.content] }
        : { status: "completed", result: strict.value }
    default:
      return strict satisfies never
  }
}

/** Of a Turn that was told to stop. Nobody can tell whether a value returned after that is whole, so none is kept. */
export const stoppedOutcome = (cause: StopCause): TurnOutcome => {
  const { code, message } = stopFailure(cause)
  return { status: cause === "cancelled" ? "cancelled" : "interrupted", error: { code, message } }
}

/** Of a Turn whose handler ended by itself. */
export const endedOutcome = (end: HandlerEnd, response: Response): TurnOutcome => {
  if (response.kind === "too_large") return failed("result_too_large", response.message)
  return end.kind === "threw"
    ? failed("handler_failed", messageOf(end.error))
    : completed(end.value, response)
}
