/** Ends a supervisor: asked first, with time for its Session processes, then killed. */
import type { Ports } from "../../ports.ts"
import type { Supervisor } from "./supervisor.ts"
import { within } from "./wait.ts"

export interface EndDeps {
  readonly ports: Pick<Ports, "after">
  readonly note: (action: string, detail: string) => void
}

/** A supervisor gives its Session processes their grace and flushes what it has; then its tree is killed. */
const stopMaxMs = 15_000
const killMaxMs = 2_000

/** What could not be ended, in words. */
export const endSupervisor = async (running: Supervisor, deps: EndDeps): Promise<readonly string[]> => {
  await running.signal("SIGTERM")
  if ((await within(running.ended, stopMaxMs, deps.ports)) !== "late") return []
  await running.signal("SIGKILL")
  deps.note("killed", `supervisor did not stop within ${stopMaxMs / 1000} s`)
  const ended = await within(running.ended, killMaxMs, deps.ports)
  return ended === "late" ? [`supervisor ${running.identity.pid} could not be ended`] : []
}
