/**
 * Keeps every Session process of this Computer frozen for as long as no lease is held.
 *
 * SF1 that they are frozen is on record before the first one is, so that the next supervisor thaws what this one froze
 * SF2 their time stands still meanwhile: no limit and no wait of theirs runs out
 * SF3 what comes to be or is woken by somebody else meanwhile is frozen too, within a second
 * SF4 nothing is thawed but by a grant: who is to end while frozen is killed as it stands
 */
import type { Journal } from "../journal.ts"
import type { Cancel, Ports } from "../ports.ts"
import { freezeTrees, thawTrees } from "../process/freeze.ts"
import type { Tree } from "../process/tree.ts"
import type { MetaTable } from "../store/meta.ts"
import type { SessionTime } from "./time.ts"

export interface FreezerDeps {
  readonly ports: Pick<Ports, "clock" | "timers">
  readonly journal: Journal
  readonly meta: MetaTable
  readonly time: SessionTime
  readonly trees: () => readonly Tree[]
}

export interface Freezer {
  /** Looks whether what an earlier supervisor froze is frozen still; called once its processes are known. */
  readonly hold: () => void
  readonly freeze: () => void
  readonly thaw: () => void
  /** Wall time; unset: they run. */
  readonly sinceMs: () => number | undefined
  /** Resolves when a process may run. */
  readonly thawed: () => Promise<void>
  /** Leaves everything as it is. */
  readonly close: () => void
}

/** Stopping takes milliseconds; a process in an uninterruptible wait stops when that ends. */
const firstPassMs = 2
const slowestPassMs = 50
const keepMs = 1_000

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

interface Frozen {
  readonly sinceMs: number
  readonly thawed: PromiseWithResolvers<void>
  cancel: Cancel
}

export const createFreezer = (deps: FreezerDeps): Freezer => {
  const { ports, journal, meta, time } = deps
  const { clock, timers } = ports
  let frozen: Frozen | undefined

  const record = (sinceMs: number | undefined): void => {
    try {
      meta.set("frozen_since", sinceMs === undefined ? "" : String(sinceMs))
    } catch (error) {
      journal.record({ event: "store_write_failed", during: "freeze", message: messageOf(error) })
    }
  }

  /** Every second, so that a pass costs nothing that matters (SF3). */
  const keep = (now: Frozen): void => {
    now.cancel = timers.after(keepMs, () => {
      freezeTrees(deps.trees())
      keep(now)
    })
  }

  const pass = (now: Frozen, startedMs: number, pauseMs: number): void => {
    const trees = deps.trees()
    if (freezeTrees(trees)) {
      const tookMs = Math.round(clock.monotonicMs() - startedMs)
      journal.record({ event: "sessions_frozen", processes: trees.length, tookMs })
      keep(now)
    } else
      now.cancel = timers.after(pauseMs, () => pass(now, startedMs, Math.min(2 * pauseMs, slowestPassMs)))
  }

  const begin = (sinceMs: number): void => {
    frozen = { sinceMs, thawed: Promise.withResolvers(), cancel: () => undefined }
    time.stop()
  }

  const hold = (): void => {
    if (frozen !== undefined) pass(frozen, clock.monotonicMs(), firstPassMs)
  }

  const freeze = (): void => {
    if (frozen !== undefined) return
    const sinceMs = clock.wallMs()
    record(sinceMs)
    begin(sinceMs)
    hold()
  }

  const thaw = (): void => {
    if (frozen === undefined) return
    const { sinceMs, thawed, cancel } = frozen
    cancel()
    frozen = undefined
    const trees = deps.trees()
    thawTrees(trees)
    record(undefined)
    time.go()
    journal.record({ event: "sessions_thawed", processes: trees.length, sinceMs })
    thawed.resolve()
  }

  const since = meta.get("frozen_since")
  if (since !== undefined && since !== "") begin(Number(since))

  return {
    hold,
    freeze,
    thaw,
    sinceMs: () => frozen?.sinceMs,
    thawed: () => frozen?.thawed.promise ?? Promise.resolve(),
    close: () => frozen?.cancel(),
  }
}
