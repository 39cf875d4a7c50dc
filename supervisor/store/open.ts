/**
 * The supervisor's store: what must survive its death, in one SQLite file. SQL lives in this folder only, one file
 * for each group of tables. Opening takes the lock of the state directory first, so one process writes it.
 *
 * ST1 a damaged file is set aside under a name that the journal tells, never deleted
 * ST2 a file written by a later version is refused and left as it is
 * ST3 `synced` returns when the change is on disk; `transaction` may lose its last changes to a power cut
 * ST4 a full disk is no damage: the ballast gives room, or the start is refused and the file left as it is
 */
import type { Database } from "bun:sqlite"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { StoreId } from "@computerd/protocol/ids"
import type { Journal } from "../journal.ts"
import type { Cancel, Ports } from "../ports.ts"
import { type Ballast, ballastBytes, createBallast } from "./ballast.ts"
import { openDatabase } from "./file.ts"
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
  /** False while the disk is full: then nothing new is begun (BA1). */
  readonly hasRoom: () => boolean
  /** Also gives up the lock of the state directory. */
  readonly close: () => void
}

export interface StoreOptions {
  readonly directory: string
  readonly ports: Ports
  readonly journal: Journal
  readonly ballastBytes?: number
}

/** What a store is made of: an open database, its file for messages, and what its owner releases last. */
export interface StoreBasis {
  readonly database: Database
  readonly file: string
  readonly ports: Ports
  readonly journal: Journal
  readonly ballast: Ballast
  readonly release: () => void
}

export const storeFileName = "store.sqlite"
const ballastFileName = "ballast"
const checkpointMs = 60_000

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const identityOf = (meta: MetaTable, ports: Ports): StoreId => {
  const stored = meta.get("store_id")
  if (stored !== undefined) return StoreId.parse(stored)
  const id = ports.newId("str")
  meta.set("store_id", id)
  return id
}

const assemble = ({ database, ports, journal, ballast, release }: StoreBasis): Store => {
  const transactions = createTransactions({
    database,
    effectFailed: (error) =>
      journal.record({ event: "session_task_failed", task: "after commit", message: messageOf(error) }),
    diskFull: ballast.giveUp,
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
    hasRoom: ballast.isKept,
    close: () => {
      ballast.close()
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

/** A burst leaves a long log behind; a little later what it holds is in the file, and it is empty. */
const keepLogShort = (database: Database, { ports, journal }: StoreOptions): Cancel =>
  ports.timers.every(checkpointMs, () => {
    try {
      database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    } catch (error) {
      journal.record({ event: "store_write_failed", during: "checkpoint", message: messageOf(error) })
    }
  })

const openWith = (ballast: Ballast, lock: StateLock, options: StoreOptions): Result<Store> => {
  const file = join(options.directory, storeFileName)
  const database = openDatabase(file, options)
  let endCheckpoints: Cancel = () => undefined
  const release = (): void => {
    endCheckpoints()
    lock.release()
  }
  try {
    const store = storeOver({ ...options, database, file, ballast, release })
    if (store.ok) endCheckpoints = keepLogShort(database, options)
    else database.close()
    return store
  } catch (error) {
    database.close()
    throw error
  }
}

/** ST4 */
const openWithRoom = (ballast: Ballast, lock: StateLock, options: StoreOptions): Result<Store> => {
  try {
    return openWith(ballast, lock, options)
  } catch (error) {
    if (!ballast.isKept() || !ballast.isDiskFull()) throw error
    ballast.giveUp()
    return openWith(ballast, lock, options)
  }
}

const openLocked = (lock: StateLock, options: StoreOptions): Result<Store> => {
  const { directory, ports, journal } = options
  const file = join(directory, ballastFileName)
  const bytes = options.ballastBytes ?? ballastBytes
  const ballast = createBallast({ file, directory, bytes, timers: ports.timers, journal })
  try {
    const store = openWithRoom(ballast, lock, options)
    if (!store.ok) ballast.close()
    return store
  } catch (error) {
    ballast.close()
    throw error
  }
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
