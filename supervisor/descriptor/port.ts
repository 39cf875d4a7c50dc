/**
 * The port of an MCP listener: any free one of the configured range. The search begins where the Session's id
 * falls, so that supervisors which share a range seldom meet, and the next process of a Session comes back to the
 * port of the last: whoever still holds a dead header is told so, instead of reaching a stranger or nobody.
 */
import type { PortRange } from "@computerd/protocol/configuration"
import type { SessionId } from "@computerd/protocol/ids"

/** Tried before the range counts as full; a bind costs microseconds. */
const attemptsMax = 256

/** Candidates in the order in which they are tried. */
export const candidatePorts = (range: PortRange, sessionId: SessionId): readonly number[] => {
  const size = range.last - range.first + 1
  const start = Number(BigInt(Bun.hash(sessionId)) % BigInt(size))
  return Array.from(
    { length: Math.min(size, attemptsMax) },
    (_, index) => range.first + ((start + index) % size),
  )
}
