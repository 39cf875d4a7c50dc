/** The text that a verb was given: on the command line, or on standard input. */
import { apiBodyMaxBytes } from "@computerd/protocol/api/limits"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { GivenText } from "../arguments/fleet/command.ts"
import type { FleetDeps } from "./deps.ts"
import { unlessAborted } from "./unless-aborted.ts"

/** What the API takes no more of is not read either. */
const readAll = async (stdin: FleetDeps["stdin"]): Promise<Result<string>> => {
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

/** Rejects when a signal comes: standard input may be a person who thinks better of it. */
export const textOf = async (
  given: GivenText,
  {
    stdin,
    interrupt,
  }: { readonly stdin: FleetDeps["stdin"]; readonly interrupt: Pick<FleetDeps["interrupt"], "stop"> },
): Promise<Result<string>> =>
  given.kind === "text" ? ok(given.text) : unlessAborted(readAll(stdin), interrupt.stop)
