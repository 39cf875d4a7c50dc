/**
 * One supervisor for each state directory. The lock is an open exclusive transaction on an empty SQLite file: the
 * kernel drops it when the holder dies, however it dies, so no stale lock has to be judged and no two newcomers can
 * both take one over. A file beside it names the holder, for the message only.
 */
import { Database } from "bun:sqlite"
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fail, ok, type Result } from "@computerd/protocol/errors"

export interface StateLock {
  readonly release: () => void
}

/** Kept from being collected: with its connection a lock would be given up by whoever merely does not use it any more. */
const held = new Set<Database>()

const holderOf = (file: string): string => {
  try {
    return readFileSync(file, "utf8").trim()
  } catch {
    return ""
  }
}

/** For the message alone: a full disk must not keep a supervisor from starting. */
const nameHolder = (file: string): void => {
  try {
    writeFileSync(file, `${process.pid}\n`, { mode: 0o600 })
  } catch {
    rmSync(file, { force: true })
  }
}

const isBusy = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "SQLITE_BUSY"

export const lockState = (directory: string): Result<StateLock> => {
  const holderFile = join(directory, "supervisor.pid")
  const lockFile = join(directory, "supervisor.lock")
  const database = new Database(lockFile, { create: true })
  // By name: to close a descriptor of the file would drop every lock that this process has on it.
  chmodSync(lockFile, 0o600)
  try {
    database.run("PRAGMA busy_timeout = 0")
    // Nothing is ever written here, and a journal file would not fit on a full disk.
    database.run("PRAGMA journal_mode = MEMORY")
    database.run("BEGIN EXCLUSIVE")
  } catch (error) {
    database.close()
    if (!isBusy(error)) throw error
    const pid = holderOf(holderFile)
    const who = pid === "" ? "another supervisor" : `the supervisor with pid ${pid}`
    return fail(
      "already_running",
      `${directory} is in use by ${who}: stop it, or use another state directory`,
    )
  }
  nameHolder(holderFile)
  held.add(database)
  return ok({
    release: () => {
      // While the lock is held: afterwards the file may be that of the next holder.
      rmSync(holderFile, { force: true })
      database.close()
      held.delete(database)
    },
  })
}
