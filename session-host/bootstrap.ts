/**
 * The first line of standard input: where the supervisor is, who this process is, what it runs. It is read
 * synchronously, since nothing can begin before it; the supervisor writes it as it starts the process, and its start
 * deadline ends a process that waits here in vain.
 */
import { readSync } from "node:fs"
import type { SessionBootstrap } from "@computerd/protocol/channel"
import type { Result } from "@computerd/protocol/errors"
import { isBootstrap } from "./channel/frames.ts"
import { fail } from "./turn/failure.ts"

const lineMaxBytes = 65_536
/** Where standard input does not block, how long to wait before looking again. */
const retryMs = 1

const isWouldBlock = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "EAGAIN"

/** Bytes read, 0 at the end of the input. */
const readSome = (fd: number, into: Uint8Array): number => {
  for (;;) {
    try {
      return readSync(fd, into)
    } catch (error) {
      if (!isWouldBlock(error)) throw error
      Bun.sleepSync(retryMs)
    }
  }
}

const firstLine = (fd: number): string => {
  const buffer = new Uint8Array(lineMaxBytes)
  let length = 0
  while (length < buffer.length && !buffer.subarray(0, length).includes(10)) {
    const read = readSome(fd, buffer.subarray(length))
    if (read === 0) break
    length += read
  }
  const end = buffer.subarray(0, length).indexOf(10)
  return new TextDecoder().decode(buffer.subarray(0, end === -1 ? length : end))
}

const refused = fail(
  "invalid_frame",
  "standard input must begin with one line of JSON, the bootstrap that a supervisor writes",
)

export const readBootstrap = (fd: number): Result<SessionBootstrap> => {
  try {
    const value: unknown = JSON.parse(firstLine(fd))
    return isBootstrap(value) ? { ok: true, value } : refused
  } catch {
    return refused
  }
}
