/**
 * Makes decisions durable and tells of them afterwards, never before.
 *
 * M1 a refusal is not written; what it had drafted is forgotten
 * M2 mutations that arrive in one turn of the event loop share a commit, each whole or not at all
 * M3 what cannot be stored is answered as such, and the journal says why
 */
import { fail, type Result } from "@computerd/protocol/errors"
import type { ComputerId, SessionId } from "@computerd/protocol/ids"
import type { Decision } from "../crash-points.ts"
import type { Ports } from "../ports.ts"
import type { Changes } from "../rules/changes.ts"
import { Draft } from "../rules/draft.ts"
import { isSettled } from "../rules/entities.ts"
import type { Given } from "../rules/given.ts"
import { happenedIn } from "../rules/history.ts"
import { apply } from "../store/apply.ts"
import type { Store } from "../store/open.ts"
import { createAcknowledged } from "./acknowledged.ts"
import { createGroup } from "./group.ts"
import { createRetried } from "./retried.ts"

export type Work<Value> = (draft: Draft, given: Given) => Result<Value>

export interface Commits {
  /** Reads only; whatever the work drafted is forgotten. */
  readonly look: <Value>(work: Work<Value>) => Result<Value>
  /** Durable on return. */
  readonly now: <Value>(operation: Decision, work: Work<Value>) => Result<Value>
  /** Durable when it resolves (M2). */
  readonly grouped: <Value>(operation: Decision, work: Work<Value>) => Promise<Result<Value>>
  /** Tried again until it is stored, in the order of the calls: for reports that nobody would repeat. */
  readonly persist: (operation: Decision, work: Work<void>) => void
  /** Commands up to `seq` have been applied; forgotten with the next commit, or soon. */
  readonly acknowledge: (computer: ComputerId, seq: number) => void
  readonly flush: () => void
  readonly close: () => void
}

/** What a commit has made durable. */
export interface Told {
  readonly changes: Changes
  readonly atMs: number
  /** Roots of the trees that have new history. */
  readonly roots: ReadonlySet<SessionId>
}

export interface CommitsDeps {
  readonly store: Store
  readonly ports: Ports
  readonly given: () => Given
  /** Before anything is decided by the wall clock; outside a transaction. */
  readonly followClock: () => void
  readonly tell: (told: Told) => void
}

interface Waiting {
  /** Decides and writes inside the open transaction; the returned function tells and answers after the commit. */
  readonly perform: () => () => void
  readonly alone: () => void
}

/** Bounds how long one group keeps the event loop. */
const groupMax = 128

const stopping = fail(
  "admission_unavailable",
  "the control plane is stopping; retry with the same idempotencyKey",
)

interface Decided<Value> {
  readonly result: Result<Value>
  readonly told: () => void
}

/** M1; inside a transaction. */
const decide = <Value>(deps: CommitsDeps, operation: Decision, work: Work<Value>): Decided<Value> => {
  const given = deps.given()
  const draft = new Draft(deps.store.state)
  const result = work(draft, given)
  if (!result.ok) return { result, told: () => undefined }
  const changes = draft.changes()
  const { tables } = deps.store
  apply(tables, changes)
  const roots = tables.history.append(happenedIn(changes), given.now)
  deps.ports.reach(`${operation}.before_commit`)
  return { result, told: () => deps.tell({ changes, atMs: given.now, roots }) }
}

/** M3 */
const unstored = (ports: Ports, operation: Decision, error: unknown): Result<never> => {
  const message = error instanceof Error ? error.message : String(error)
  ports.journal.record({ type: "store_failed", operation, message })
  return fail("admission_unavailable", "nothing was stored; retry with the same idempotencyKey")
}

export const createCommits = (deps: CommitsDeps): Commits => {
  const { store, ports } = deps
  const acknowledged = createAcknowledged({ store, ports })
  const retried = createRetried(ports)
  let closed = false

  const now: Commits["now"] = <Value>(operation: Decision, work: Work<Value>) => {
    if (closed) return stopping
    deps.followClock()
    let decided: Decided<Value>
    try {
      decided = acknowledged.transaction(() => decide(deps, operation, work))
    } catch (error) {
      return unstored(ports, operation, error)
    }
    ports.reach(`${operation}.after_commit`)
    decided.told()
    return decided.result
  }

  /** M2 */
  const performTogether = (items: readonly Waiting[]): void => {
    deps.followClock()
    let answers: readonly (() => void)[]
    try {
      answers = acknowledged.transaction(() => items.map((item) => item.perform()))
    } catch {
      for (const item of items) item.alone()
      return
    }
    for (const answer of answers) answer()
  }

  const group = createGroup<Waiting>(ports, { max: groupMax, perform: performTogether })

  const grouped: Commits["grouped"] = <Value>(operation: Decision, work: Work<Value>) => {
    const { promise, resolve } = Promise.withResolvers<Result<Value>>()
    const perform = (): (() => void) => {
      const { result, told } = decide(deps, operation, work)
      return () => {
        ports.reach(`${operation}.after_commit`)
        told()
        resolve(result)
      }
    }
    group.add({ perform, alone: () => resolve(now(operation, work)) })
    return promise
  }

  return {
    look: (work) => (closed ? stopping : work(new Draft(store.state), deps.given())),
    now,
    grouped,
    persist: (operation, work) => retried.persist(() => now(operation, work)),
    acknowledge: acknowledged.note,
    flush: () => {
      group.flush()
      retried.drain()
      acknowledged.flush()
    },
    close: () => {
      closed = true
      retried.close()
      acknowledged.close()
    },
  }
}

/** Turns that a decision settled. */
export const settledTurns = (changes: Changes): readonly Changes["turns"][number]["row"][] =>
  changes.turns.filter(({ row }) => isSettled(row)).map(({ row }) => row)
