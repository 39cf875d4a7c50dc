import { expect, test } from "bun:test"
import { DefinitionKey, EnvironmentKey, idSource, SessionId, TurnId } from "@computerd/protocol/ids"

const newId = idSource(() => Bun.randomUUIDv7())

test("an id carries the prefix of its kind and parses as that kind only", () => {
  const session = newId("ses")
  expect(SessionId.parse(session)).toBe(session)
  expect(TurnId.safeParse(session).success).toBe(false)
})

test("ids of one kind sort by creation", () => {
  const made = Array.from({ length: 2_000 }, () => newId("trn"))
  expect(made.toSorted()).toEqual(made)
})

test("ids refuse upper case, other UUID versions and anything around them", () => {
  const good = newId("ses")
  const version4 = good.replace(/-7(?=[0-9a-f]{3}-[89ab])/, "-4")
  for (const bad of [good.toUpperCase(), ` ${good}`, `${good}\n`, version4, good.slice(0, -1), "ses_"]) {
    expect(SessionId.safeParse(bad).success).toBe(false)
  }
})

test("environment and definition keys are bounded and never path-like", () => {
  expect(EnvironmentKey.safeParse("default").success).toBe(true)
  for (const bad of ["", "-a", "a-", "A", "a/b", "..", "a".repeat(64)]) {
    expect(EnvironmentKey.safeParse(bad).success).toBe(false)
  }
  expect(DefinitionKey.safeParse("repo.reviewer_2").success).toBe(true)
  for (const bad of ["", ".", "..", "a/b", "a ", "*", "a".repeat(129)]) {
    expect(DefinitionKey.safeParse(bad).success).toBe(false)
  }
})
