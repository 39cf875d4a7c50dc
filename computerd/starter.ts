/**
 * What started this process, and whether it is still there. A package runner puts shells and runtimes between a person
 * and this process that do not pass a signal on, so the end of any of them is looked for.
 *
 * S1 the direct parent counts, and beyond it every ancestor in the process group of this process, which is one job
 * S2 a process that nothing waits for from the beginning has no starter
 */
import { readFileSync } from "node:fs"
import type { WatchStarter } from "./interrupt.ts"
import type { Ports } from "./ports.ts"

export interface Relation {
  readonly parent: number
  readonly group: number
}
/** Nothing for a process that is gone. */
export type RelationOf = (pid: number) => Relation | undefined

const first = 1
const lookEveryMs = 500

export const relationOf: RelationOf = (pid) => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    // The name, in parentheses, may hold anything; what follows it is fixed.
    const [, parent, group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return { parent: Number(parent), group: Number(group) }
  } catch {
    return undefined
  }
}

/** The processes that this one depends on, the nearest first (S1). */
export const startersOf = (pid: number, relation: RelationOf): readonly number[] => {
  const own = relation(pid)
  const found: number[] = []
  for (let next = own?.parent ?? first; next > first; ) {
    const starter = relation(next)
    if (starter === undefined || (found.length > 0 && starter.group !== own?.group)) break
    found.push(next)
    next = starter.parent
  }
  return found
}

/** Whether each still is the parent of the one before; one that dies leaves its child to somebody else. */
export const areThere = (pid: number, starters: readonly number[], relation: RelationOf): boolean =>
  starters.every((starter, place) => relation(starters[place - 1] ?? pid)?.parent === starter)

export const watchStarter =
  (pid: number, ports: Pick<Ports, "every">, relation: RelationOf = relationOf): WatchStarter =>
  (gone) => {
    const starters = startersOf(pid, relation)
    if (starters.length === 0) return () => undefined
    const stop = ports.every(lookEveryMs, () => {
      if (areThere(pid, starters, relation)) return
      stop()
      gone()
    })
    return stop
  }
