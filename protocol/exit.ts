/** Why a Session process is gone, in the words that a log, a status, a hold and the next `init` show. Pure. */
import type { ExitReason } from "./link.ts"

export const exitText = (reason: ExitReason): string => {
  switch (reason.kind) {
    case "code":
      return `exit code ${reason.code}`
    case "signal":
      return `signal ${reason.signal}`
    case "out_of_memory":
      return "out of memory"
    case "start_timeout":
      return `not ready within ${reason.afterMs} ms`
    case "spawn_failed":
      return `could not be started: ${reason.message}`
    case "load_failed":
      return `program could not be loaded: ${reason.message}`
    case "init_failed":
      return `init failed: ${reason.message}`
    case "stop_timeout":
      return `did not stop within ${reason.afterMs} ms`
    case "shutdown":
      return "shut down"
    case "not_reattached":
      return `not taken over by the next supervisor: ${reason.message}`
    case "unknown":
      return reason.message
    default:
      return reason satisfies never
  }
}
