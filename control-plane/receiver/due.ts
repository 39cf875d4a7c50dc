/**
 * Work that time alone brings: idle Sessions close, unused Computers are retired, old receipts and payloads go. Due
 * times are in the store, so a restart forgets none; one timer waits for the earliest.
 */
import { ok } from "@computerd/protocol/errors"
import type { CancelTimer, Ports } from "../ports.ts"
import type { Changes } from "../rules/changes.ts"
import { retireUnused } from "../rules/computers.ts"
import type { Settings } from "../rules/given.ts"
import { progress } from "../rules/progress.ts"
import type { Store } from "../store/open.ts"
import type { Commits } from "./commits.ts"

export interface Due {
  /** Looks at what a decision may have brought forward. */
  readonly consider: (changes: Changes) => void
  /** All due times were moved by so much; the timer, which counts running time, fires when it would have. */
  readonly moved: (byMs: number) => void
  /** Does what is due now and sets the timer again. */
  readonly run: () => void
  readonly close: () => void
}

export interface DueDeps {
  readonly store: Store
  readonly ports: Ports
  readonly commits: Commits
  readonly followClock: () => void
  readonly settings: Settings
}

const housekeepingMs = 5 * 60 * 1000
/** Rows that one transaction takes, so that a backlog never keeps the event loop. */
const batch = 100
const housekeepingBatch = 500
const pauseMs = 1_000

export const createDue = (deps: DueDeps): Due => {
  const { store, ports, commits, settings } = deps
  let timer: CancelTimer | undefined
  let timerAt = Number.POSITIVE_INFINITY
  let housekeepingAt = ports.now()
  let closed = false

  const setTimer = (at: number): void => {
    if (closed || at >= timerAt) return
    timer?.()
    timerAt = at
    timer = ports.after(Math.max(at - ports.now(), 0), run)
  }

  const closeIdle = (now: number): boolean => {
    const due = store.tables.sessions.dueForClosing(now, batch)
    if (due.length === 0) return false
    commits.now("due", (draft, given) => {
      for (const id of due) draft.touch(id)
      progress(draft, given)
      return ok(undefined)
    })
    return due.length === batch
  }

  const retire = (now: number): boolean => {
    const due = store.tables.computers.dueForDeletion(now, batch)
    if (due.length === 0) return false
    commits.now("due", (draft, given) => {
      for (const id of due) retireUnused(draft, id, given)
      return ok(undefined)
    })
    return due.length === batch
  }

  const housekeep = (now: number): boolean => {
    if (now < housekeepingAt) return false
    const closedBefore = now - settings.receiptRetentionMs
    const pruned = store.transaction(() =>
      store.tables.receipts.prune({ now, closedBefore }, housekeepingBatch),
    )
    const retention = settings.payloadRetentionMs
    const expired =
      retention === null
        ? 0
        : store.transaction(() => store.tables.turns.expire(now - retention, now, housekeepingBatch))
    if (pruned >= housekeepingBatch || expired >= housekeepingBatch) return true
    ports.reach("store.before_checkpoint")
    store.checkpoint()
    ports.reach("store.after_checkpoint")
    housekeepingAt = now + housekeepingMs
    return false
  }

  const step = (task: string, work: () => boolean): boolean => {
    try {
      return work()
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      ports.journal.record({ type: "task_failed", task, message })
      return false
    }
  }

  const next = (): number =>
    Math.min(
      store.tables.sessions.nextClosing() ?? Number.POSITIVE_INFINITY,
      store.tables.computers.nextDeletion() ?? Number.POSITIVE_INFINITY,
      housekeepingAt,
    )

  const run = (): void => {
    if (closed) return
    deps.followClock()
    timerAt = Number.POSITIVE_INFINITY
    const now = ports.now()
    const more = [
      step("close idle Sessions", () => closeIdle(now)),
      step("retire unused Computers", () => retire(now)),
      step("housekeeping", () => housekeep(now)),
    ].includes(true)
    const at = next()
    // What is due and could not be done is tried again after a pause.
    if (more) setTimer(now)
    else setTimer(at > now ? at : now + pauseMs)
  }

  return {
    consider: (changes) => {
      for (const { row } of changes.sessions) if (row.idleDue !== null) setTimer(row.idleDue)
      for (const { row } of changes.computers) {
        if (row.unusedSince !== null && row.deleteAfterUnusedMs !== null && row.status === "available")
          setTimer(row.unusedSince + row.deleteAfterUnusedMs)
      }
    },
    moved: (byMs) => {
      timerAt += byMs
      housekeepingAt += byMs
    },
    run,
    close: () => {
      closed = true
      timer?.()
    },
  }
}
