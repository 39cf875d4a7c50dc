/** How a failure reads on the command line: one line that names the code and says what is wrong. */
import type { Failure } from "@computerd/protocol/errors"
import { oneLine } from "./view/text.ts"

export const failureLine = ({ code, message }: Failure): string => `computerd: ${code}: ${oneLine(message)}\n`

/** The word that the system has for what went wrong, such as ENOENT. */
export const systemWord = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "unknown reason"
