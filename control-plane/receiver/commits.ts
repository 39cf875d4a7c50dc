/**
 * Makes decisions durable and tells of them afterwards, never before.
 *
 * M1 a refusal is not written; what it had drafted is forgotten
 * M2 mutations that arrive in one turn of the event loop share a commit, each whole or not at all
 * M3 what cannot be stored is answered as such, and the journal says why
 */
import { fail, type Result } from "@computerd/protocol/errors"
import type { ComputerId } from "@computerd/protocol/ids"
import type { CancelTimer, Ports } from "../ports.ts"
import type { Changes } from "../rules/changes.ts"
import { Draft } from "../rules/draft.ts"
import { isSettled } from "../rules/entities.ts"
import type { Given } from "../rules/given.ts"
import { apply } from "../store/apply.ts"
import type { Store } from "../store/open.ts"

export type Work<Value> = (draft: Draft, given: Given) => Result<Value>

export interface Commits {
  /** Reads only; whatever the work drafted is forgotten. */
  readonly look: <Value>(work: Work<Value>) => Result<Value>
  /** Durable on return. */
  readonly now: <Value>(operation: string, work: Work<Value>) => Result<Value>
  /** Durable when it resolves (M2). */
  readonly grouped: <Value>(operation: string, work: Work<Value>) => Promise<Result<Value>>
  /** Tried again until it is stored, in the order of the calls: for reports that nobody would repeat. */
  readonly persist: (operation: string, work: Work<void>) => void
  /** Commands up to `seq` have been applied; forgotten with the next commit, or soon. */
  readonly acknowledge: (computer: ComputerId, seq: number) => void
  readonly flush: () => void
  readonly close: () => void
}

export interface CommitsDeps {
  readonly store: Store
  readonly ports: Ports
  readonly given: () => Given
  readonly tell: (changes: Changes, atMs: number) => void
}

interface Waiting {
  /** Decides and writes inside the open transaction; the returned function tells and answers after the commit. */
  readonly perform: () => () => void
  readonly alone: () => void
}

/** Bounds how long one group keeps the event loop. */
const groupMax = 128
const retryMs = 1_000
/** Acknowledgements are not urgent: until they are stored, only disk space waits. */
const acknowledgeMs = 250

const stopping = fail(
  "admission_unavailable",
  "the control plane is stopping; retry with the same idempotencyKey",
)

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export const createCommits = (deps: CommitsDeps): Commits => {
  const { store, ports } = deps
  const queue: Waiting[] = []
  const reports: { readonly operation: string; readonly work: Work<void> }[] = []
  const acknowledged = new Map<ComputerId, number>()
  let gathering = false
  let acknowledging: CancelTimer | undefined
  let retrying: CancelTimer | undefined
  let closed = false

  const writeAcknowledged = (): void => {
    for (const [computer, seq] of acknowledged) {
      store.tables.links.dropCommands(computer, seq)
      store.tables.computers.acknowledge(computer, seq)
    }
  }

  /** One transaction, with the acknowledgements that wait. */
  const transaction = <Value>(work: () => Value): Value => {
    const value = store.transaction(() => {
      writeAcknowledged()
      return work()
    })
    acknowledged.clear()
    return value
  }

  const decide = <Value>(
    work: Work<Value>,
  ): { readonly result: Result<Value>; readonly told: () => void } => {
    const given = deps.given()
    const draft = new Draft(store.state)
    const result = work(draft, given)
    if (!result.ok) return { result, told: () => undefined }
    const changes = draft.changes()
    apply(store.tables, changes)
    return { result, told: () => deps.tell(changes, given.now) }
  }

  const unstored = (operation: string, error: unknown): Result<never> => {
    ports.journal.record({ type: "store_failed", operation, message: textOf(error) })
    return fail("admission_unavailable", "nothing was stored; retry with the same idempotencyKey")
  }

  const now: Commits["now"] = (operation, work) => {
    if (closed) return stopping
    try {
      const { result, told } = transaction(() => decide(work))
      told()
      return result
    } catch (error) {
      return unstored(operation, error)
    }
  }

  const performTogether = (group: readonly Waiting[]): void => {
    let answers: (() => void)[]
    try {
      answers = transaction(() => group.map((waiting) => waiting.perform()))
    } catch {
      for (const waiting of group) waiting.alone()
      return
    }
    for (const answer of answers) answer()
  }

  const flush = (): void => {
    gathering = false
    if (queue.length === 0) return
    performTogether(queue.splice(0, groupMax))
    if (queue.length > 0) gather()
  }

  const gather = (): void => {
    if (gathering) return
    gathering = true
    ports.soon(flush)
  }

  const grouped: Commits["grouped"] = <Value>(operation: string, work: Work<Value>) => {
    const { promise, resolve } = Promise.withResolvers<Result<Value>>()
    queue.push({
      perform: () => {
        const { result, told } = decide(work)
        return () => {
          told()
          resolve(result)
        }
      },
      alone: () => resolve(now(operation, work)),
    })
    gather()
    return promise
  }

  const drainReports = (): void => {
    retrying = undefined
    for (let next = reports[0]; next !== undefined && !closed; next = reports[0]) {
      const stored = now(next.operation, next.work)
      if (!stored.ok && stored.error.code === "admission_unavailable") {
        retryLater()
        return
      }
      reports.shift()
    }
  }

  const retryLater = (): void => {
    retrying ??= ports.after(retryMs, drainReports)
  }

  const flushAcknowledged = (): void => {
    acknowledging = undefined
    if (closed || acknowledged.size === 0) return
    try {
      transaction(() => undefined)
    } catch (error) {
      unstored("acknowledge", error)
      acknowledgeLater()
    }
  }

  const acknowledgeLater = (): void => {
    acknowledging ??= ports.after(acknowledgeMs, flushAcknowledged)
  }

  return {
    look: (work) => (closed ? stopping : work(new Draft(store.state), deps.given())),
    now,
    grouped,
    persist: (operation, work) => {
      reports.push({ operation, work })
      if (retrying === undefined) drainReports()
    },
    acknowledge: (computer, seq) => {
      acknowledged.set(computer, Math.max(seq, acknowledged.get(computer) ?? 0))
      acknowledgeLater()
    },
    flush: () => {
      while (queue.length > 0) flush()
      if (retrying === undefined) drainReports()
      acknowledging?.()
      flushAcknowledged()
    },
    close: () => {
      closed = true
      retrying?.()
      acknowledging?.()
    },
  }
}

/** Turns that a decision settled. */
export const settledTurns = (changes: Changes): readonly Changes["turns"][number]["row"][] =>
  changes.turns.filter(({ row }) => isSettled(row)).map(({ row }) => row)
