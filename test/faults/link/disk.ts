/**
 * A disk with one database on it. What was committed outlives the death of the process; of a store that is not synced
 * with each commit, a power cut takes back what came after the last sync.
 */
import { Database } from "bun:sqlite"

/** SQLite's own bound; more pages than any schedule needs. */
const pagesMax = 1_073_741_823

export class Disk {
  #bytes: Uint8Array
  #synced: Uint8Array
  #database: Database | undefined
  readonly #abandoned: Database[] = []

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#synced = bytes
  }

  get database(): Database {
    if (this.#database === undefined) throw new Error("nobody has the disk open")
    return this.#database
  }

  open(): Database {
    this.#bury()
    const database = Database.deserialize(this.#bytes, { strict: true })
    database.run("PRAGMA foreign_keys = ON")
    this.#database = database
    return database
  }

  /** Everything that is committed is on the disk now. */
  synced(): void {
    this.#synced = this.database.serialize()
  }

  /** The process is gone; what it had not committed never was. Whatever it still does, it does to a copy. */
  kill(): void {
    const { database } = this
    if (database.inTransaction) database.run("ROLLBACK")
    this.#bytes = database.serialize()
    this.#abandoned.push(database)
    this.#database = undefined
  }

  cutPower(): void {
    this.kill()
    this.#bytes = this.#synced
  }

  fill(): void {
    const { database } = this
    const pages = database.query<{ page_count: number }, []>("PRAGMA page_count").get()?.page_count ?? 0
    database.run(`PRAGMA max_page_count = ${pages}`)
  }

  makeRoom(): void {
    this.#database?.run(`PRAGMA max_page_count = ${pagesMax}`)
  }

  /** For looking at what a dead process left. */
  read<Row>(look: (database: Database) => Row): Row {
    if (this.#database !== undefined) return look(this.#database)
    const database = Database.deserialize(this.#bytes, { strict: true })
    try {
      return look(database)
    } finally {
      database.close()
    }
  }

  close(): void {
    this.#bury()
    this.#database?.close()
    this.#database = undefined
  }

  #bury(): void {
    for (const database of this.#abandoned.splice(0)) database.close()
  }
}
