/** What the journal tells of the machine: how process trees are kept there, and what it keeps a supervisor from doing. */
import type { Status } from "@computerd/protocol/operator"
import type { CareAspect, Journal } from "../journal.ts"

export interface MachineView {
  /** The fallback until one was chosen. */
  readonly isolation: () => Status["computer"]["isolation"]
  readonly degraded: () => readonly string[]
}

export const watchMachine = (journal: Journal): MachineView => {
  let isolation: Status["computer"]["isolation"] = "process_group"
  const degraded = new Map<CareAspect, string>()
  journal.subscribe((entry) => {
    if (entry.event === "isolation_chosen") isolation = entry.isolation
    if (entry.event === "care_degraded") degraded.set(entry.aspect, entry.reason)
    if (entry.event === "care_restored") degraded.delete(entry.aspect)
  })
  return { isolation: () => isolation, degraded: () => [...degraded.values()] }
}
