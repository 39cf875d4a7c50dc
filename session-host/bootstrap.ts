/**
 * The first line of standard input: where the supervisor is, who this process is, what it runs. The supervisor writes
 * it as it starts the process, and its start deadline ends a process that waits here in vain.
 *
 * Read as a stream: `node:fs` alone would take half as long again as starting Bun and connecting.
 */
import type { SessionBootstrap } from "@computerd/protocol/channel"
import type { Result } from "@computerd/protocol/errors"
import { isBootstrap } from "./channel/frames.ts"
import { fail } from "./turn/failure.ts"

const lineMaxLength = 65_536

const firstLine = async (input: ReadableStream<Uint8Array>): Promise<string> => {
  const reader = input.getReader()
  const decoder = new TextDecoder()
  let text = ""
  while (!text.includes("\n") && text.length < lineMaxLength) {
    const { done, value } = await reader.read()
    if (done) break
    text += decoder.decode(value, { stream: true })
  }
  reader.releaseLock()
  return text.split("\n", 1)[0] ?? ""
}

const refused = fail(
  "invalid_frame",
  "standard input must begin with one line of JSON, the bootstrap that a supervisor writes",
)

export const readBootstrap = async (input: ReadableStream<Uint8Array>): Promise<Result<SessionBootstrap>> => {
  try {
    const value: unknown = JSON.parse(await firstLine(input))
    return isBootstrap(value) ? { ok: true, value } : refused
  } catch {
    return refused
  }
}
