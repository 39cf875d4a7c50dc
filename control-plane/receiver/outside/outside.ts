/** Everything that clients of the public API ask of the receiver. Who asks has been authenticated for the Environment. */
import type { Parts } from "../parts.ts"
import { type DefinitionReads, definitionReads } from "./definitions.ts"
import { type ReadEvents, readEvents } from "./events.ts"
import { type OutsideMutations, outsideMutations } from "./mutations.ts"
import { type WaitFromOutside, waitFromOutside } from "./wait.ts"
import { type WorkReads, workReads } from "./work.ts"

export interface OutsideCalls {
  readonly mutate: OutsideMutations
  readonly read: DefinitionReads & WorkReads
  readonly events: ReadEvents
  /** The signal ends the wait and nothing else. */
  readonly wait: WaitFromOutside
}

export const outsideCalls = (parts: Parts): OutsideCalls => ({
  mutate: outsideMutations(parts),
  read: { ...definitionReads(parts), ...workReads(parts) },
  events: readEvents(parts),
  wait: waitFromOutside(parts),
})
