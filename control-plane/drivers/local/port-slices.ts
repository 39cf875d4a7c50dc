/**
 * Port ranges of Computers, all outside the kernel's ephemeral range, so that no outgoing connection takes a port
 * which a supervisor must bind again. Two Computers share a slice only when there are more of them than slices; a
 * supervisor passes over a port that is taken.
 */
import { readFile } from "node:fs/promises"
import type { PortRange } from "@computerd/protocol/configuration"

const sliceSize = 128
/** Below this people and packages run their own servers. */
const firstPort = 10_000
const lastPort = 65_535
/** What Linux ships, for when the kernel does not say. */
const ephemeralDefault: PortRange = { first: 32_768, last: 60_999 }

export const readEphemeralRange = async (): Promise<PortRange> => {
  try {
    const text = await readFile("/proc/sys/net/ipv4/ip_local_port_range", "utf8")
    const [first, last] = text.trim().split(/\s+/).map(Number)
    return first === undefined || last === undefined ? ephemeralDefault : { first, last }
  } catch {
    return ephemeralDefault
  }
}

const slicesIn = (first: number, last: number): readonly PortRange[] =>
  Array.from({ length: Math.max(0, Math.floor((last - first + 1) / sliceSize)) }, (_, index) => ({
    first: first + index * sliceSize,
    last: first + (index + 1) * sliceSize - 1,
  }))

/** With an ephemeral range that covers everything, slices inside it are better than none. */
export const portSlices = (ephemeral: PortRange): readonly PortRange[] => {
  const outside = [
    ...slicesIn(firstPort, Math.min(ephemeral.first - 1, lastPort)),
    ...slicesIn(Math.max(ephemeral.last + 1, firstPort), lastPort),
  ]
  return outside.length > 0 ? outside : slicesIn(firstPort, lastPort)
}

/** The least used slice, looked for from `start` on, so that two control planes on one machine rarely meet. */
export const chooseSlice = (
  slices: readonly PortRange[],
  taken: readonly PortRange[],
  start: number,
): PortRange | undefined => {
  const uses = (slice: PortRange): number => taken.filter((other) => other.first === slice.first).length
  const rotated = slices.map((_, index) => slices[(start + index) % slices.length])
  return rotated.reduce<PortRange | undefined>(
    (best, slice) => (slice !== undefined && (best === undefined || uses(slice) < uses(best)) ? slice : best),
    undefined,
  )
}
