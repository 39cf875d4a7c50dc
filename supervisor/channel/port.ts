/** Finds a port in the configured range. The one that was used before comes first, so that addresses stay valid. */
import type { PortRange } from "@computerd/protocol/configuration"
import { fail, ok, type Result } from "@computerd/protocol/errors"

const isBusy = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "EADDRINUSE"

export interface PortSearch<Listener> {
  readonly range: PortRange
  readonly preferred: number | undefined
  /** In [0, 1): where to start when there is no preferred one, so that neighbours do not all try the same. */
  readonly start: number
  /** Throws `EADDRINUSE` when somebody else has the port. */
  readonly bind: (port: number) => Listener
}

const candidates = function* (search: PortSearch<unknown>): Generator<number> {
  const { first, last } = search.range
  const { preferred } = search
  if (preferred !== undefined && preferred >= first && preferred <= last) yield preferred
  const size = last - first + 1
  const offset = Math.floor(search.start * size)
  for (let step = 0; step < size; step += 1) yield first + ((offset + step) % size)
}

export const bindInRange = <Listener>(search: PortSearch<Listener>): Result<Listener> => {
  for (const port of candidates(search)) {
    try {
      return ok(search.bind(port))
    } catch (error) {
      if (!isBusy(error)) throw error
    }
  }
  const { first, last } = search.range
  return fail(
    "invalid_configuration",
    `every port from ${first} to ${last} is busy: widen the range`,
    "ports",
  )
}
