/** Repeats a call that may pass later. Every call here carries a key or changes nothing, so a repeat is harmless. */
import { setTimeout as delay } from "node:timers/promises"
import { ToolError } from "./tools.ts"

const attemptsMax = 8
const firstDelayMs = 100
const delayMaxMs = 5_000

/** The connection to the server broke or it was busy: stock clients report that as anything but a `ToolError`. */
const mayPassLater = (error: unknown): boolean =>
  !(error instanceof ToolError) || error.code === "admission_unavailable"

export const retried = async <Value>(attempt: () => Promise<Value>, signal: AbortSignal): Promise<Value> => {
  for (let tried = 1; ; tried += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (signal.aborted || tried === attemptsMax || !mayPassLater(error)) throw error
      await delay(Math.min(firstDelayMs * 2 ** tried, delayMaxMs), undefined, { signal })
    }
  }
}
