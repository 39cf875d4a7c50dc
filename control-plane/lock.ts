/**
 * One control plane for each state directory. The lock is an exclusive transaction that stays open on an empty SQLite
 * file: the kernel ends it with its holder, however that dies, so there is no stale lock to judge. A file beside it names
 * the holder, for the message only.
 */
import { Database } from "bun:sqlite"
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fail, ok, type Result } from "@computerd/protocol/errors"

export interface StateLock {
  readonly release: () => void
}

/** Kept from being collected: with its connection a lock would be given up by whoever merely does not use it any more. */
const held = new Set<Database>()

const holder = (file: string): string => {
  try {
    const pid = readFileSync(file, "utf8").trim()
    return /^\d+$/.test(pid) ? `the control plane with pid ${pid}` : "another control plane"
  } catch {
    return "another control plane"
  }
}

const isBusy = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "SQLITE_BUSY"

/** Throws when the directory cannot be written. */
export const lockStateDirectory = (stateDirectory: string): Result<StateLock> => {
  const file = join(stateDirectory, "control-plane.lock")
  const holderFile = join(stateDirectory, "control-plane.pid")
  closeSync(openSync(file, "a", 0o600))
  const database = new Database(file, { create: true })
  try {
    database.run("PRAGMA busy_timeout = 0")
    database.run("BEGIN EXCLUSIVE")
  } catch (error) {
    database.close()
    if (!isBusy(error)) throw error
    return fail(
      "already_running",
      `${stateDirectory} is in use by ${holder(holderFile)}; stop it or use another state directory`,
    )
  }
  writeFileSync(holderFile, `${process.pid}\n`, { mode: 0o600 })
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
