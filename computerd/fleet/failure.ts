/** What went wrong, in one line, and the exit code for it. Pure. */
import { failure } from "@computerd/protocol/errors"
import { HelmrApiError, HelmrConnectionError, HelmrError } from "@helmr/sdk"
import { exitFailure, exitUsage } from "../exit-codes.ts"
import { failureLine } from "../failure.ts"

export interface Failed {
  readonly line: string
  readonly exitCode: number
}

const keyAdvice = (error: HelmrError): string =>
  error instanceof HelmrConnectionError && error.idempotencyKey !== undefined
    ? ` (--idempotency-key ${error.idempotencyKey} repeats it without a second effect)`
    : ""

/** The field stands in the message, or else beside it. */
const placeIn = ({ message, field }: HelmrError): string =>
  field === undefined || message.includes(field) ? "" : ` (at ${field})`

/** `undefined`: not an error that the client makes; a fault of this program. */
export const failedOf = (error: unknown): Failed | undefined => {
  if (!(error instanceof HelmrError)) return undefined
  const line = failureLine(failure(error.code, `${error.message}${placeIn(error)}${keyAdvice(error)}`))
  // What the client refused by itself never left: an argument is wrong.
  const own = error.code === "invalid_arguments" && !(error instanceof HelmrApiError)
  return { line, exitCode: own ? exitUsage : exitFailure }
}
