import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { createTransactions, type Transactions } from "@computerd/supervisor/store/transactions"
import fc from "fast-check"

const setUp = () => {
  const database = new Database(":memory:")
  database.run("CREATE TABLE meta (key TEXT, value TEXT)")
  database.run("INSERT INTO meta VALUES ('synced_commits', '0')")
  database.run("CREATE TABLE log (entry INTEGER)")
  const failures: unknown[] = []
  const transactions = createTransactions({
    database,
    effectFailed: (error) => failures.push(error),
    diskFull: () => undefined,
  })
  const logged = (): number[] =>
    database
      .query<{ entry: number }, []>("SELECT entry FROM log ORDER BY rowid")
      .all()
      .map((row) => row.entry)
  const synced = (): string | undefined =>
    database.query<{ value: string }, []>("SELECT value FROM meta").get()?.value
  return { database, transactions, failures, logged, synced }
}

test("an effect waits for the outermost commit and sees what was committed", () => {
  const { database, transactions, logged } = setUp()
  const seen: unknown[] = []
  transactions.transaction(() => {
    transactions.transaction(() => {
      database.run("INSERT INTO log VALUES (1)")
      transactions.afterCommit(() => seen.push(database.inTransaction, logged()))
    })
    expect(seen).toEqual([])
  })
  expect(seen).toEqual([false, [1]])
})

test("an effect of a transaction that rolled back never runs", () => {
  const { transactions } = setUp()
  let ran = false
  expect(() =>
    transactions.transaction(() => {
      transactions.afterCommit(() => {
        ran = true
      })
      throw new Error("no")
    }),
  ).toThrow("no")
  expect(ran).toBe(false)
})

test("an effect that throws is reported and does not keep the others from running", () => {
  const { transactions, failures } = setUp()
  let ran = false
  transactions.transaction(() => {
    transactions.afterCommit(() => {
      throw new Error("effect")
    })
    transactions.afterCommit(() => {
      ran = true
    })
  })
  expect(ran).toBe(true)
  expect(failures).toHaveLength(1)
})

test("a synced part makes the whole outer commit synced, and only a commit that asked is", () => {
  const { transactions, synced } = setUp()
  transactions.transaction(() => undefined)
  expect(synced()).toBe("0")
  transactions.transaction(() => transactions.synced(() => undefined))
  expect(synced()).toBe("1")
  transactions.transaction(() => undefined)
  expect(synced()).toBe("1")
})

/** A tree of transactions: each writes its number, runs its parts, and then commits or throws. */
interface Part {
  readonly fails: boolean
  readonly parts: readonly Part[]
}
const part: fc.Arbitrary<Part> = fc.letrec<{ part: Part; leaf: Part }>((tie) => ({
  leaf: fc.record({ fails: fc.boolean(), parts: fc.constant([]) }),
  part: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    tie("leaf"),
    fc.record({ fails: fc.boolean(), parts: fc.array(tie("part"), { maxLength: 3 }) }),
  ),
})).part

interface Expected {
  readonly written: number[]
  readonly forgotten: number
}

const run = (
  transactions: Transactions,
  database: Database,
  number: { next: number },
  { fails, parts }: Part,
): void =>
  transactions.transaction(() => {
    const own = number.next
    number.next += 1
    database.run("INSERT INTO log VALUES (?)", [own])
    for (const inner of parts) {
      try {
        run(transactions, database, number, inner)
      } catch {
        // The outer part goes on without it.
      }
    }
    if (fails) throw new Error("part fails")
  })

const model = (number: { next: number }, { fails, parts }: Part): Expected => {
  const own = number.next
  number.next += 1
  const inner = parts.map((each) => model(number, each))
  return {
    written: fails ? [] : [own, ...inner.flatMap((each) => each.written)],
    forgotten: inner.reduce((sum, each) => sum + each.forgotten, 0) + (fails ? 1 : 0),
  }
}

test("of nested transactions exactly those stay that committed within committed ones", () => {
  fc.assert(
    fc.property(part, (root) => {
      const { database, transactions, logged } = setUp()
      let forgotten = 0
      transactions.onRollback(() => {
        forgotten += 1
      })
      try {
        run(transactions, database, { next: 0 }, root)
      } catch {
        // The root failed.
      }
      const expected = model({ next: 0 }, root)
      expect(logged()).toEqual(expected.written)
      expect(forgotten).toBe(expected.forgotten)
      expect(database.inTransaction).toBe(false)
      database.close()
    }),
    { numRuns: 200 },
  )
})
