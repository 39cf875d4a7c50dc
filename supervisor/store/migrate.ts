/**
 * Brings a store file to the present version, one numbered migration after the other, each with its number in one
 * transaction. A file of a later version is refused untouched (ST2).
 */
import type { Database } from "bun:sqlite"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { migration001 } from "./migrations/001.ts"
import { migration002 } from "./migrations/002.ts"
import { migration003 } from "./migrations/003.ts"
import { migration004 } from "./migrations/004.ts"

/** Position N holds the change from version N to N+1. Released entries never change. */
const migrations: readonly string[] = [migration001, migration002, migration003, migration004]

export const storeVersion = migrations.length

const versionOf = (database: Database): number => {
  const row = database.query<{ user_version: number }, []>("PRAGMA user_version").get()
  return row?.user_version ?? 0
}

/** Answers with the version that the file had. */
export const migrate = (database: Database, file: string): Result<number> => {
  const found = versionOf(database)
  if (found > storeVersion)
    return fail(
      "store_unavailable",
      `${file} has store version ${found}, and this computerd knows versions up to ${storeVersion}: ` +
        "run the newer computerd again, or move the file away to start without it",
    )
  for (const [index, change] of migrations.entries()) {
    if (index < found) continue
    database.transaction(() => {
      database.run(change)
      database.run(`PRAGMA user_version = ${index + 1}`)
    })()
  }
  return ok(found)
}
