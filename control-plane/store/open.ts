/**
 * The store: one SQLite file, on the main thread of one process.
 *
 * Q1 a decision reads and writes in one transaction: all of it is durable, or nothing of it happened
 * Q2 decisions that arrive together share a transaction; when one of them cannot be applied, each runs again in one of
 *    its own, so that none suffers for another
 */
import { Database } from "bun:sqlite"
import { chmodSync, closeSync, openSync } from "node:fs"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { State } from "../rules/state.ts"
import { migrations } from "./migrations/all.ts"
import { type Sql, sqlOf } from "./sql.ts"
import { stateOf } from "./state.ts"
import { type Tables, tablesOf } from "./tables.ts"

export interface Store {
  readonly path: string
  readonly version: number
  readonly tables: Tables
  readonly state: State
  /** Q1; throws what `work` throws, after everything is undone. */
  readonly transaction: <Value>(work: () => Value) => Value
  /** A random value made once and kept with the data. */
  readonly secret: (name: string, make: () => string) => string
  /** Moves what the write-ahead log holds into the file, and gives back the memory of cached pages; never waits for readers. */
  readonly checkpoint: () => void
  readonly close: () => void
}

/** A group of decisions writes far less between two automatic checkpoints. */
const pragmas = [
  "pragma busy_timeout = 5000",
  "pragma journal_mode = wal",
  // A receipt must outlive a power cut: the supervisor forgets what was acknowledged.
  "pragma synchronous = full",
  "pragma foreign_keys = on",
  "pragma temp_store = memory",
  // 64 MiB: the indexes of some 100,000 Sessions stay in memory.
  "pragma cache_size = -65536",
  "pragma journal_size_limit = 67108864",
  "pragma wal_autocheckpoint = 4000",
]

const restrict = (path: string): void => {
  closeSync(openSync(path, "a", 0o600))
  chmodSync(path, 0o600)
}

const versionOf = (sql: Sql): number =>
  sql.get<{ readonly user_version: number }>("pragma user_version")?.user_version ?? 0

const migrate = (database: Database, from: number): void => {
  for (const [index, text] of migrations.entries()) {
    if (index < from) continue
    database.run("begin immediate")
    database.run(text)
    database.run(`pragma user_version = ${index + 1}`)
    database.run("commit")
  }
}

const transactor =
  (database: Database): Store["transaction"] =>
  (work) => {
    database.run("begin immediate")
    try {
      const value = work()
      database.run("commit")
      return value
    } catch (error) {
      if (database.inTransaction) database.run("rollback")
      throw error
    }
  }

const secretOf =
  (sql: Sql): Store["secret"] =>
  (name, make) => {
    sql.run("insert into secrets (name, value) values ($1, $2) on conflict (name) do nothing", name, make())
    return sql.get<{ readonly value: string }>("select value from secrets where name = $1", name)?.value ?? ""
  }

const unavailable = (path: string, problem: string): ReturnType<typeof fail> =>
  fail("store_unavailable", `${path}: ${problem}`)

const open = (path: string): Result<Store> => {
  if (path !== ":memory:") restrict(path)
  return storeOver(new Database(path, { create: true, strict: true }), path)
}

/** Brings an open database to the present layout and takes it as the store; `path` is for messages. */
export const storeOver = (database: Database, path: string): Result<Store> => {
  for (const pragma of pragmas) database.run(pragma)
  const sql = sqlOf(database)
  const version = versionOf(sql)
  if (version > migrations.length) {
    sql.finalize()
    database.close()
    return unavailable(
      path,
      `has layout ${version} and this program knows ${migrations.length}; start the newer program`,
    )
  }
  migrate(database, version)
  const tables = tablesOf(sql)
  return ok({
    path,
    version: migrations.length,
    tables,
    state: stateOf(tables),
    transaction: transactor(database),
    secret: secretOf(sql),
    checkpoint: () => {
      database.run("pragma wal_checkpoint(passive)")
      database.run("pragma shrink_memory")
    },
    close: () => {
      sql.finalize()
      database.close(false)
    },
  })
}

export const openStore = (path: string): Result<Store> => {
  try {
    return open(path)
  } catch (error) {
    return unavailable(path, error instanceof Error ? error.message : String(error))
  }
}
