/**
 * Statements by their text. Placeholders are `$1, $2, …`, first used in ascending order, so that the same text runs
 * on SQLite and on PostgreSQL.
 */
import type { Database, Statement } from "bun:sqlite"

export type Value = string | number | null

export interface Sql {
  /** `Row` is what the statement selects; whoever writes the text answers for it. */
  readonly get: <Row>(text: string, ...values: readonly Value[]) => Row | undefined
  readonly all: <Row>(text: string, ...values: readonly Value[]) => readonly Row[]
  /** How many rows changed. */
  readonly run: (text: string, ...values: readonly Value[]) => number
  readonly finalize: () => void
}

/** Texts that differ by the length of a list are few; more than this many means one is built from data. */
const statementsMax = 512

export const sqlOf = (database: Database): Sql => {
  const statements = new Map<string, Statement<unknown, Value[]>>()
  const prepared = (text: string): Statement<unknown, Value[]> => {
    const known = statements.get(text)
    if (known !== undefined) return known
    if (statements.size >= statementsMax) throw new Error("too many distinct SQL statements")
    const statement = database.prepare<unknown, Value[]>(text)
    statements.set(text, statement)
    return statement
  }
  return {
    get: <Row>(text: string, ...values: readonly Value[]): Row | undefined => {
      const row: unknown = prepared(text).get(...values)
      return isRow<Row>(row) ? row : undefined
    },
    all: <Row>(text: string, ...values: readonly Value[]): readonly Row[] =>
      prepared(text)
        .all(...values)
        .filter((row) => isRow<Row>(row)),
    run: (text, ...values) => prepared(text).run(...values).changes,
    finalize: () => {
      for (const statement of statements.values()) statement.finalize()
      statements.clear()
    },
  }
}

const isRow = <Row>(row: unknown): row is Row => typeof row === "object" && row !== null

/** `$from, $from+1, …` for a list of `count` values. */
export const placeholders = (from: number, count: number): string =>
  Array.from({ length: count }, (_, index) => `$${from + index}`).join(", ")

/** Sorts after every id: where a list that runs downwards begins. */
export const last = "~"

/** JSON that this store wrote. */
export const parseJson = <Shape>(text: string): Shape => JSON.parse(text)
