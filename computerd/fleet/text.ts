/** The text that a verb was given: on the command line, or on standard input. */
import { apiBodyMaxBytes } from "@computerd/protocol/api/limits"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { GivenText } from "../arguments/fleet/command.ts"

/** What the API takes no more of is not read either. */
export const textOf = async (
  given: GivenText,
  stdin: AsyncIterable<Uint8Array | string>,
): Promise<Result<string>> => {
  if (given.kind === "text") return ok(given.text)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk)
    size += bytes.length
    if (size > apiBodyMaxBytes)
      return fail("request_too_large", `standard input holds more than ${apiBodyMaxBytes} bytes`)
    chunks.push(bytes)
  }
  return ok(Buffer.concat(chunks).toString("utf8"))
}
