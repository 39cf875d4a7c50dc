/**
 * Transactions of the store's one connection. Work nests (an inner call is a savepoint of the outer one), effects
 * wait for the outermost commit, and caches are dropped on any rollback.
 *
 * The connection runs with `synchronous = NORMAL`: in WAL mode a commit survives the death of the process, and the
 * disk follows at the next sync. SQLite ignores a change of that pragma inside a transaction; so when an inner call
 * asks for a synced commit, a small synced write follows the outer commit. The WAL is synced as one file, therefore
 * that write takes everything before it to disk (ST3).
 */
import type { Database } from "bun:sqlite"

export interface Transactions {
  readonly transaction: <Value>(work: () => Value) => Value
  readonly synced: <Value>(work: () => Value) => Value
  readonly afterCommit: (effect: () => void) => void
  /** For caches of rows: called after every rollback, also of an inner part. */
  readonly onRollback: (forget: () => void) => void
}

export interface TransactionsOptions {
  readonly database: Database
  /** An effect threw; the others still run. */
  readonly effectFailed: (error: unknown) => void
  /** Everything is rolled back, and the next one may find room. */
  readonly diskFull: () => void
}

const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "SQLITE_FULL"

export const createTransactions = ({
  database,
  effectFailed,
  diskFull,
}: TransactionsOptions): Transactions => {
  let depth = 0
  let syncWanted = false
  let effects: (() => void)[] = []
  const caches = new Set<() => void>()

  const rollback = (statement: string, keptEffects: number): void => {
    effects.length = keptEffects
    for (const forget of caches) forget()
    // A full disk may have rolled back already; then there is nothing left to undo.
    if (database.inTransaction) database.run(statement)
  }

  const syncNow = (): void => {
    database.run("PRAGMA synchronous = FULL")
    try {
      database.run("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'synced_commits'")
    } finally {
      database.run("PRAGMA synchronous = NORMAL")
    }
  }

  const settleEffects = (): void => {
    const due = effects
    effects = []
    for (const effect of due) {
      try {
        effect()
      } catch (error) {
        effectFailed(error)
      }
    }
  }

  const inner = <Value>(work: () => Value): Value => {
    const kept = effects.length
    const savepoint = `level_${depth}`
    database.run(`SAVEPOINT ${savepoint}`)
    depth += 1
    try {
      const value = work()
      database.run(`RELEASE ${savepoint}`)
      return value
    } catch (error) {
      rollback(`ROLLBACK TO ${savepoint}; RELEASE ${savepoint}`, kept)
      throw error
    } finally {
      depth -= 1
    }
  }

  const outer = <Value>(work: () => Value): Value => {
    syncWanted = false
    database.run("BEGIN IMMEDIATE")
    depth = 1
    try {
      const value = work()
      database.run("COMMIT")
      if (syncWanted) syncNow()
      return value
    } catch (error) {
      rollback("ROLLBACK", 0)
      if (isDiskFull(error)) diskFull()
      throw error
    } finally {
      depth = 0
    }
  }

  const transaction = <Value>(work: () => Value): Value => {
    if (depth > 0) return inner(work)
    const value = outer(work)
    settleEffects()
    return value
  }

  return {
    transaction,
    synced: (work) =>
      transaction(() => {
        syncWanted = true
        return work()
      }),
    afterCommit: (effect) => {
      if (depth > 0) effects.push(effect)
      else effect()
    },
    onRollback: (forget) => {
      caches.add(forget)
    },
  }
}
