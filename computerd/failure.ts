/** How a failure reads on the command line: one line that names the code and says what is wrong. */
import type { Failure } from "@computerd/protocol/errors"
import { oneLine } from "./view/text.ts"

export const failureLine = ({ code, message }: Failure): string => `computerd: ${code}: ${oneLine(message)}\n`
