/**
 * The supervisor's store: what must survive its death, in one SQLite file. SQL lives in this folder only, one file
 * for each group of tables. Opening takes the lock of the state directory first, so one process writes it.
 *
 * ST1 a damaged file is set aside under a name that the journal tells, never deleted
 * ST2 a file written by a later version is refused and left as it is
 * ST3 `synced` returns when the change is on disk; `transaction` may lose its last changes to a power cut
 */
import { Database } from "bun:sqlite"
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, renameSync } from "node:fs"
import { join } from "node:path"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { StoreId } from "@computerd/protocol/ids"
import type { Journal } from "../journal.ts"
import type { Ports } from "../ports.ts"
import { lockState, type StateLock } from "./lock.ts"
import { type MetaTable, metaTable } from "./meta.ts"
import { migrate, storeVersion } from "./migrate.ts"
import { type ProcessTable, processTable } from "./processes.ts"
import { type SessionTable, sessionTable } from "./sessions.ts"
import { createTransactions, type Transactions } from "./transactions.ts"

export interface Store extends Omit<Transactions, "onRollback"> {
  /** Made with the file: a fresh file has another one. */
  readonly id: StoreId
  /** For the table groups of this folder: `outboxTable(store.database)`. */
  readonly database: Database
  readonly transactions: Transactions
  readonly meta: MetaTable
  readonly sessions: SessionTable
  readonly processes: ProcessTable
  /** Also gives up the lock of the state directory. */
  readonly close: () => void
}

export interface StoreOptions {
  readonly directory: string
  readonly ports: Ports
  readonly journal: Journal
}

/** What a store is made of: an open database, its file for messages, and what its owner releases last. */
export interface StoreBasis {
  readonly database: Database
  readonly file: string
  readonly ports: Ports
  readonly journal: Journal
  readonly release: () => void
}

export const storeFileName = "store.sqlite"

/** The whole event loop waits for a busy database: one writer never needs longer. */
const busyTimeoutMs = 50
/** A checkpoint cuts the write-ahead log back to this. */
const journalSizeLimitBytes = 8 * 1024 * 1024

const pragmas: readonly string[] = [
  `PRAGMA busy_timeout = ${busyTimeoutMs}`,
  "PRAGMA journal_mode = WAL",
  `PRAGMA journal_size_limit = ${journalSizeLimitBytes}`,
  "PRAGMA synchronous = NORMAL",
  "PRAGMA foreign_keys = ON",
]

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** A garbage file opens without complaint and fails at its first query, so it is asked before anyone relies on it. */
const damageOf = (database: Database): string | undefined => {
  try {
    for (const pragma of pragmas) database.run(pragma)
    const first = database.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get()
    return first?.quick_check === "ok"
      ? undefined
      : (first?.quick_check ?? "the integrity check gave no answer")
  } catch (error) {
    return messageOf(error)
  }
}

const setAside = (file: string, reason: string, options: StoreOptions): void => {
  const keptAs = `${file}.damaged-${options.ports.clock.wallMs()}-${options.ports.newId("str").slice(-12)}`
  for (const suffix of ["", "-wal", "-shm"])
    if (existsSync(file + suffix)) renameSync(file + suffix, keptAs + suffix)
  options.journal.record({ event: "store_set_aside", file, keptAs, reason })
}

/** SQLite gives its companion files the mode of the main one, so that mode is right before they exist. */
const openPrivate = (file: string): Database => {
  closeSync(openSync(file, "a", 0o600))
  chmodSync(file, 0o600)
  return new Database(file, { create: true, strict: true })
}

/** Opens the file, or a fresh one when it is damaged (ST1). */
const openDatabase = (file: string, options: StoreOptions): Database => {
  const database = openPrivate(file)
  const damage = damageOf(database)
  if (damage === undefined) return database
  database.close()
  setAside(file, damage, options)
  const fresh = openPrivate(file)
  for (const pragma of pragmas) fresh.run(pragma)
  return fresh
}

const identityOf = (meta: MetaTable, ports: Ports): StoreId => {
  const stored = meta.get("store_id")
  if (stored !== undefined) return StoreId.parse(stored)
  const id = ports.newId("str")
  meta.set("store_id", id)
  return id
}

const assemble = ({ database, ports, journal, release }: StoreBasis): Store => {
  const transactions = createTransactions({
    database,
    effectFailed: (error) =>
      journal.record({ event: "session_task_failed", task: "after commit", message: messageOf(error) }),
  })
  const { transaction, synced, afterCommit } = transactions
  const meta = metaTable(database)
  return {
    id: synced(() => identityOf(meta, ports)),
    database,
    transactions,
    transaction,
    synced,
    afterCommit,
    meta,
    sessions: sessionTable(database, transactions),
    processes: processTable(database, transactions),
    close: () => {
      database.close(false)
      release()
    },
  }
}

/** Brings an open database to the present version and takes it as the store. */
export const storeOver = (basis: StoreBasis): Result<Store> => {
  const { database, file, ports, journal } = basis
  ports.reach("store.before_migration")
  const migrated = migrate(database, file)
  if (!migrated.ok) return migrated
  ports.reach("store.migrated")
  journal.record({ event: "store_opened", file, version: storeVersion, created: migrated.value === 0 })
  return ok(assemble(basis))
}

const openLocked = (lock: StateLock, options: StoreOptions): Result<Store> => {
  const file = join(options.directory, storeFileName)
  const database = openDatabase(file, options)
  const store = storeOver({ ...options, database, file, release: lock.release })
  if (!store.ok) database.close()
  return store
}

const openUnder = (lock: StateLock, options: StoreOptions): Result<Store> => {
  try {
    const store = openLocked(lock, options)
    if (!store.ok) lock.release()
    return store
  } catch (error) {
    lock.release()
    throw error
  }
}

export const openStore = (options: StoreOptions): Result<Store> => {
  try {
    mkdirSync(options.directory, { recursive: true, mode: 0o700 })
    const lock = lockState(options.directory)
    return lock.ok ? openUnder(lock.value, options) : lock
  } catch (error) {
    return fail("store_unavailable", `cannot open the store in ${options.directory}: ${messageOf(error)}`)
  }
}
