import { expect, test } from "bun:test"
import { landed } from "./requirements.ts"
import { files } from "./tree.ts"

/** Numbers that open a test title, also one that stands in a table of cases: each an R and digits. */
const claimedBy = (text: string): readonly number[] =>
  [...text.matchAll(/["'`](R\d+(?: R\d+)*)[ "'`]/g)].flatMap((match) =>
    [...(match[1] ?? "").matchAll(/\d+/g)].map(Number),
  )

const claims = async (): Promise<ReadonlyMap<number, readonly string[]>> => {
  const byNumber = new Map<number, string[]>()
  for (const { path, text } of await files("test/**/*.test.ts")) {
    for (const number of claimedBy(text)) byNumber.set(number, [...(byNumber.get(number) ?? []), path])
  }
  return byNumber
}

test("every landed requirement has a test that carries its number", async () => {
  const claimed = await claims()
  expect([...landed].filter((number) => !claimed.has(number))).toEqual([])
})

test("every number that a test carries is in the list of landed requirements", async () => {
  const claimed = await claims()
  expect([...claimed.keys()].filter((number) => !landed.has(number)).toSorted((a, b) => a - b)).toEqual([])
})
