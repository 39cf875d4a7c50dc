/** The store's file: opened with every pragma set on purpose, and set aside when it is damaged (ST1). */
import { Database } from "bun:sqlite"
import { chmodSync, closeSync, existsSync, openSync, renameSync } from "node:fs"
import type { Journal } from "../journal.ts"
import type { Ports } from "../ports.ts"

export interface FileOptions {
  readonly ports: Pick<Ports, "clock" | "newId">
  readonly journal: Journal
}

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

const damageCodes: readonly unknown[] = ["SQLITE_CORRUPT", "SQLITE_NOTADB"]

const isDamage = (error: unknown): error is Error =>
  error instanceof Error &&
  "code" in error &&
  damageCodes.some((code) => String(error.code).startsWith(String(code)))

/**
 * A garbage file opens without complaint and fails at its first query, so it is asked before anyone relies on it.
 * Throws what is no damage (ST4).
 */
const damageOf = (database: Database): string | undefined => {
  try {
    for (const pragma of pragmas) database.run(pragma)
    const first = database.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get()
    return first?.quick_check === "ok"
      ? undefined
      : (first?.quick_check ?? "the integrity check gave no answer")
  } catch (error) {
    if (isDamage(error)) return error.message
    throw error
  }
}

const setAside = (file: string, reason: string, options: FileOptions): void => {
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
export const openDatabase = (file: string, options: FileOptions): Database => {
  const database = openPrivate(file)
  let damage: string | undefined
  try {
    damage = damageOf(database)
  } catch (error) {
    database.close()
    throw error
  }
  if (damage === undefined) return database
  database.close()
  setAside(file, damage, options)
  const fresh = openPrivate(file)
  for (const pragma of pragmas) fresh.run(pragma)
  return fresh
}
