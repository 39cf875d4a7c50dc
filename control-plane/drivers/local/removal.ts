/**
 * Removes a Computer for good. What could not be ended is tried again after doubling waits, since nobody would look for
 * a process of a Computer that is gone.
 */
import type { Ports } from "../../ports.ts"
import { pause } from "./wait.ts"

export interface Removal {
  /** What of it could not be ended, in words; nothing of it is left when there is none. */
  readonly remove: () => Promise<readonly string[]>
  readonly note: (failure: string) => void
  /** Ends the trying; the Computer stays one that is to be removed. */
  readonly signal: AbortSignal
  readonly ports: Pick<Ports, "after">
}

const firstAgainMs = 500
const againMaxMs = 60_000

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : "unknown reason")

export const removeForGood = async (removal: Removal): Promise<"removed" | "interrupted"> => {
  const { remove, note, signal, ports } = removal
  for (let againMs = firstAgainMs; !signal.aborted; againMs = Math.min(2 * againMs, againMaxMs)) {
    const failures = await remove().catch((error: unknown) => [messageOf(error)])
    if (failures.length === 0) return "removed"
    for (const failure of failures) note(failure)
    await pause(againMs, signal, ports)
  }
  return "interrupted"
}
