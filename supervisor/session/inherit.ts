/**
 * What an earlier supervisor left on this Computer. Its processes are ended and their ends reported; nothing is
 * started before the control plane has said what must run. This is the one place that decides what becomes of them.
 */
import type { LinkEvent } from "@computerd/protocol/link"
import type { Journal } from "../journal.ts"
import type { Ports } from "../ports.ts"
import { sessionMarker } from "../process/environment.ts"
import { lives } from "../process/procfs.ts"
import { killTree, type Tree } from "../process/tree.ts"
import type { Store } from "../store/open.ts"
import type { ProcessRow } from "../store/processes.ts"
import { type ExitRecord, recordExit } from "./exit.ts"

export interface InheritDeps {
  readonly ports: Ports
  readonly journal: Journal
  readonly store: Store
  readonly emit: (event: LinkEvent) => void
}

const killLimitMs = 5000

const treeOf = (row: ProcessRow): Tree => ({
  root:
    row.pid === undefined || row.startTime === undefined
      ? undefined
      : { pid: row.pid, startTime: row.startTime, bootId: row.bootId },
  marker: sessionMarker(row.sessionId),
  cgroup: row.cgroup,
})

const endOne = async (deps: InheritDeps, row: ProcessRow): Promise<void> => {
  const { journal, store, emit } = deps
  const tree = treeOf(row)
  const identity = { sessionId: row.sessionId, generation: row.generation }
  const lived = tree.root !== undefined && lives(tree.root)
  const { survivors } = await killTree(deps.ports, tree, killLimitMs)
  const outcome = lived ? "it lived and was ended" : "it was gone"
  journal.record({ event: "inherited_process", ...identity, pid: row.pid ?? 0, outcome })
  if (survivors.length > 0)
    journal.record({ event: "tree_killed", ...identity, cause: "inherited", survivors })
  const message = lived
    ? "its supervisor ended before it, and the next one ended it"
    : "it ended while no supervisor was there to see how"
  const turn = store.sessions.get(row.sessionId)?.turn
  const exit: ExitRecord = {
    identity,
    reason: { kind: "unknown", message },
    turnId: turn?.phase === "sent" ? turn.data.id : undefined,
    expected: false,
  }
  store.transaction(() => recordExit({ store, emit }, exit))
}

export const endInherited = async (deps: InheritDeps): Promise<void> => {
  await Promise.all(deps.store.processes.all().map((row) => endOne(deps, row)))
}
