/** Rows of one kind as a decision sees them: what the state answered, under what the decision has written. */
import type { Written } from "./changes.ts"

export interface Identified {
  readonly id: string
}

export interface ListQuery<Row> {
  /** The same name stands for the same list of the state. */
  readonly name: string
  readonly load: (limit: number) => readonly Row[]
  readonly belongs: (row: Row) => boolean
  readonly limit: number
}

export class Rows<Row extends Identified> {
  readonly #known = new Map<string, Row | undefined>()
  readonly #written = new Map<string, Row>()
  readonly #lists = new Map<string, { readonly limit: number; readonly rows: readonly Row[] }>()

  get(id: Row["id"], load: (id: Row["id"]) => Row | undefined): Row | undefined {
    const written = this.#written.get(id)
    if (written !== undefined) return written
    if (this.#known.has(id)) return this.#known.get(id)
    const row = load(id)
    this.#known.set(id, row)
    return row
  }

  /** The row as it is now, given how the state listed it. */
  current(listed: Row): Row {
    if (!this.#known.has(listed.id)) this.#known.set(listed.id, listed)
    return this.#written.get(listed.id) ?? listed
  }

  add(row: Row): void {
    this.#known.set(row.id, undefined)
    this.#written.set(row.id, row)
  }

  /** The row must have been read through this object. */
  put(row: Row): void {
    this.#written.set(row.id, row)
  }

  isNew(id: Row["id"]): boolean {
    return this.#written.has(id) && this.#known.get(id) === undefined
  }

  /** A list of the state, patched: changed rows replaced, new ones appended, those that no longer belong left out. */
  list(query: ListQuery<Row>): readonly Row[] {
    const gone = this.#count((row) => !query.belongs(row))
    const listed = this.#load(query, Math.min(query.limit + gone, Number.MAX_SAFE_INTEGER))
    if (this.#written.size === 0) return listed.length > query.limit ? listed.slice(0, query.limit) : listed
    const seen = new Set(listed.map((row) => row.id))
    const current = listed.map((row) => this.current(row))
    const added = [...this.#written.values()].filter((row) => !seen.has(row.id))
    return [...current, ...added].filter(query.belongs).slice(0, query.limit)
  }

  get writtenCount(): number {
    return this.#written.size
  }

  #count(test: (row: Row) => boolean): number {
    let count = 0
    for (const row of this.#written.values()) if (test(row)) count += 1
    return count
  }

  /** The state does not change under a decision, so a list is read again only when more of it is wanted. */
  #load(query: ListQuery<Row>, limit: number): readonly Row[] {
    const read = this.#lists.get(query.name)
    if (read !== undefined && (read.limit >= limit || read.rows.length < read.limit)) return read.rows
    const rows = query.load(limit)
    this.#lists.set(query.name, { limit, rows })
    for (const row of rows) if (!this.#known.has(row.id)) this.#known.set(row.id, row)
    return rows
  }

  written(): readonly Written<Row>[] {
    return [...this.#written.values()].map((row) => ({ before: this.#known.get(row.id), row }))
  }
}
