/**
 * The first line of standard input: where the supervisor is, who this process is, what it runs. The supervisor writes
 * it as it starts the process and closes the input; its start deadline ends a process that waits here in vain.
 *
 * Read whole, since that is the fastest way: `node:fs` alone would take half as long again as starting Bun and
 * connecting, and a stream would add a tenth.
 */
import type { SessionBootstrap } from "@computerd/protocol/channel"
import type { Result } from "@computerd/protocol/errors"
import { isBootstrap } from "./channel/frames.ts"
import { fail } from "./turn/failure.ts"

const refused = fail(
  "invalid_frame",
  "standard input must begin with one line of JSON, the bootstrap that a supervisor writes",
)

export const readBootstrap = async (input: {
  readonly text: () => Promise<string>
}): Promise<Result<SessionBootstrap>> => {
  try {
    const [line = ""] = (await input.text()).split("\n", 1)
    const value: unknown = JSON.parse(line)
    return isBootstrap(value) ? { ok: true, value } : refused
  } catch {
    return refused
  }
}
