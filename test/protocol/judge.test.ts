import { expect, test } from "bun:test"
import { SupervisorConfiguration } from "@computerd/protocol/configuration"
import { Content } from "@computerd/protocol/content"
import { judge, judgeAll } from "@computerd/protocol/judge"
import { z } from "zod"

const problem = (schema: z.ZodType, value: unknown): string => {
  const judged = judge(schema, value)
  return judged.ok ? "accepted" : `${judged.error.field || "it"} ${judged.error.message}`
}

test("each problem is a sentence of ours that goes on from the field's name", () => {
  const cases: readonly (readonly [z.ZodType, unknown, string])[] = [
    [z.strictObject({ a: z.string() }), {}, "a is required"],
    [z.strictObject({ a: z.string() }), { a: 7 }, "a must be a string"],
    [z.strictObject({ a: z.string() }), { a: "", b: 1 }, "b is not a known field"],
    [z.strictObject({ a: z.string() }), 7, "it must be an object"],
    [z.record(z.string(), z.string()), { k: 1 }, "k must be a string"],
    [z.array(z.string()), {}, "it must be an array"],
    [z.int(), 1.5, "it must be an integer"],
    [z.coerce.number(), "many", "it must be a number"],
    [z.enum(["a", "b"]), "c", 'it must be "a" or "b"'],
    [z.enum(["a", "b", "c"]), "d", 'it must be one of "a", "b", "c"'],
    [z.strictObject({ a: z.enum(["a", "b"]) }), {}, "a is required"],
    [z.string().min(1), "", "it must not be empty"],
    [z.string().max(2), "abc", "it must have at most 2 characters"],
    [z.array(z.int()).min(2), [1], "it must have at least 2 items"],
    [z.int().min(1), 0, "it must be at least 1"],
    [z.int().max(9), 10, "it must be at most 9"],
    [z.url(), "x", "it must be a URL"],
    [z.string().regex(/a/), "b", "it has a wrong form"],
    [z.string().regex(/a/, "must hold an a"), "b", "it must hold an a"],
    [z.record(z.string().regex(/a/), z.int()), { b: 1 }, "b has a key of a wrong form"],
    [z.union([z.int(), z.boolean()]), "s3cret", "it has a wrong form"],
    [z.discriminatedUnion("k", [z.strictObject({ k: z.literal("a") })]), { k: "b" }, "k has a wrong form"],
    [z.json(), undefined, "it is required"],
    [Content, [{ type: "text" }], "[0].text is required"],
  ]
  for (const [schema, value, sentence] of cases) expect(problem(schema, value)).toBe(sentence)
})

test("all problems are told in the order of the schema, with paths that are safe and no value", () => {
  const schema = z.strictObject({ list: z.array(z.strictObject({ name: z.string() })), n: z.int() })
  const judged = judgeAll(schema, { list: [{ name: "a" }, { name: 7, hidden: "s3cret" }] })
  expect(judged).toEqual({
    ok: false,
    error: [
      { field: "list[1].name", message: "must be a string" },
      { field: "list[1].hidden", message: "is not a known field" },
      { field: "n", message: "is required" },
    ],
  })
})

test("ports say in which form they are expected", () => {
  const issue = (ports: unknown): string => {
    const judged = judgeAll(SupervisorConfiguration, { ports })
    if (judged.ok) return "accepted"
    return judged.error.find(({ field }) => field.startsWith("ports"))?.message ?? "accepted"
  }
  expect(issue("20000-31999")).toBe(
    'must be { "first": 20000, "last": 31999 } in the file, elsewhere 20000-31999',
  )
  expect(issue({ first: 30_000, last: 20_000 })).toBe("must not have first above last")
  expect(issue({ first: 1, last: 20_000 })).toBe("must be at least 1024")
  expect(issue({ first: 20_000 })).toBe("is required")
})
