/** Rows of one kind as a decision sees them: what the state answered, under what the decision has written. */
import type { Written } from "./changes.ts"

export interface Identified {
  readonly id: string
}

export class Rows<Row extends Identified> {
  readonly #known = new Map<string, Row | undefined>()
  readonly #written = new Map<string, Row>()

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

  /** A list of the state, patched: changed rows replaced, new ones appended, those that no longer belong left out. */
  list(query: {
    readonly load: (limit: number) => readonly Row[]
    readonly belongs: (row: Row) => boolean
    readonly limit: number
  }): readonly Row[] {
    const gone = [...this.#written.values()].filter((row) => !query.belongs(row)).length
    const listed = query.load(Math.min(query.limit + gone, Number.MAX_SAFE_INTEGER))
    const seen = new Set(listed.map((row) => row.id))
    const current = listed.map((row) => this.current(row))
    const added = [...this.#written.values()].filter((row) => !seen.has(row.id))
    return [...current, ...added].filter(query.belongs).slice(0, query.limit)
  }

  written(): readonly Written<Row>[] {
    return [...this.#written.values()].map((row) => ({ before: this.#known.get(row.id), row }))
  }
}
