/** One table whose rows are written whole: texts of insert and update, made once from the list of columns. */
import type { Sql, Value } from "./sql.ts"

export interface Table<Row> {
  readonly insert: (row: Row) => void
  /** Writes the columns that may change. */
  readonly update: (row: Row) => void
}

export interface Columns<Row> {
  readonly name: string
  readonly id: (row: Row) => string
  readonly fixed: Readonly<Record<string, (row: Row) => Value>>
  readonly changing: Readonly<Record<string, (row: Row) => Value>>
}

export const tableOf = <Row>(sql: Sql, columns: Columns<Row>): Table<Row> => {
  const fixed = Object.entries(columns.fixed)
  const changing = Object.entries(columns.changing)
  const all = [...fixed, ...changing]
  const names = ["id", ...all.map(([name]) => name)]
  const insert = `insert into ${columns.name} (${names.join(", ")}) values (${names.map((_, index) => `$${index + 1}`).join(", ")})`
  const assignments = changing.map(([name], index) => `${name} = $${index + 1}`).join(", ")
  const update = `update ${columns.name} set ${assignments} where id = $${changing.length + 1}`
  return {
    insert: (row) => {
      sql.run(insert, columns.id(row), ...all.map(([, value]) => value(row)))
    },
    update: (row) => {
      sql.run(update, ...changing.map(([, value]) => value(row)), columns.id(row))
    },
  }
}
