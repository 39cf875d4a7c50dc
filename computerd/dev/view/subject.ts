/** The fleet of an embedded control plane, as what a view shows. */
import { elapsed } from "../../view/text.ts"
import type { Subject } from "../../view/view.ts"
import type { Fleet } from "./fleet.ts"
import { eventLine } from "./plain.ts"
import { treeFrame } from "./tree.ts"

export const fleetSubject = (fleet: Fleet): Subject => ({
  frame: (input) => treeFrame({ ...input, snapshot: fleet.snapshot() }),
  onLine: (listener, startedAtMs) =>
    fleet.onEvent((event) => {
      const line = eventLine(event, startedAtMs)
      if (line !== undefined) listener(line)
    }),
  stamp: (atMs, startedAtMs) => elapsed(atMs - startedAtMs),
})
