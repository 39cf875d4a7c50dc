/** The measure: one-row commits of bun:sqlite, on a file with the settings of the store. */
import { Database } from "bun:sqlite"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface BareCommits {
  readonly commit: () => void
  readonly close: () => void
}

export const createBareCommits = (): BareCommits => {
  const directory = mkdtempSync(join(tmpdir(), "computerd-bench-"))
  const database = new Database(join(directory, "bare.sqlite"), { create: true })
  database.run("pragma journal_mode = wal")
  database.run("pragma synchronous = full")
  database.run("create table rows (id integer primary key, value text not null)")
  const insert = database.prepare("insert into rows (value) values (?)")
  return {
    commit: () => {
      insert.run("one row")
    },
    close: () => {
      insert.finalize()
      database.close(false)
      rmSync(directory, { recursive: true })
    },
  }
}
