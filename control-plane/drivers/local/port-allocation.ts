/** Which slice of ports each Computer has. What a Computer's configuration file says is the record. */
import type { PortRange } from "@computerd/protocol/configuration"
import type { ComputerId } from "@computerd/protocol/ids"
import { chooseSlice, portSlices, readEphemeralRange } from "./port-slices.ts"

export interface PortAllocation {
  /** The Computer's own slice, the same on every call. */
  readonly allocate: (computerId: ComputerId) => PortRange
  /** Takes over what an earlier control plane gave out. */
  readonly restore: (computerId: ComputerId, range: PortRange) => void
  readonly release: (computerId: ComputerId) => void
}

export const createPortAllocation = async (seed: string): Promise<PortAllocation> => {
  const slices = portSlices(await readEphemeralRange())
  const start = Number(BigInt(Bun.hash(seed)) % BigInt(slices.length))
  const given = new Map<ComputerId, PortRange>()
  return {
    allocate: (computerId) => {
      const kept = given.get(computerId)
      if (kept !== undefined) return kept
      const slice = chooseSlice(slices, [...given.values()], start)
      if (slice === undefined) throw new Error("no port is left for a Computer")
      given.set(computerId, slice)
      return slice
    },
    restore: (computerId, range) => {
      given.set(computerId, range)
    },
    release: (computerId) => {
      given.delete(computerId)
    },
  }
}
