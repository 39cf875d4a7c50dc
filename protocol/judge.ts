/**
 * Judges a value by a schema and says what is wrong in our own words: a sentence that goes on from the name of the field.
 * It repeats no value. Messages that a schema brings with it take precedence.
 */
import type { z } from "zod"
import type { Result } from "./errors.ts"

export interface Issue {
  /** A path that is safe to show; empty for the value itself. */
  readonly field: string
  readonly message: string
}

const article = (noun: string): string => (/^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`)

const nouns: Readonly<Record<string, string>> = { int: "integer", record: "object", nan: "number" }

const oneOf = (values: readonly unknown[]): string => {
  const shown = values.map((value) => (typeof value === "bigint" ? String(value) : JSON.stringify(value)))
  return shown.length > 2 ? `must be one of ${shown.join(", ")}` : `must be ${shown.join(" or ")}`
}

type Bound = { readonly origin: string; readonly limit: number | bigint; readonly word: "least" | "most" }

const bound = ({ origin, limit, word }: Bound): string => {
  if (origin !== "string" && origin !== "array") return `must be at ${word} ${limit}`
  if (word === "least" && Number(limit) === 1) return "must not be empty"
  return `must have at ${word} ${limit} ${origin === "string" ? "characters" : "items"}`
}

/** Sentences for what the schemas leave to zod. */
const sentence: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return "is required"
      return `must be ${article(nouns[issue.expected] ?? issue.expected)}`
    case "invalid_value":
      return issue.input === undefined ? "is required" : oneOf(issue.values)
    case "too_small":
      return bound({ origin: issue.origin, limit: issue.minimum, word: "least" })
    case "too_big":
      return bound({ origin: issue.origin, limit: issue.maximum, word: "most" })
    case "invalid_format":
      return issue.format === "url" ? "must be a URL" : "has a wrong form"
    case "invalid_key":
      return "has a key of a wrong form"
    case "unrecognized_keys":
      return "is not a known field"
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`
    case "invalid_union":
    case "invalid_element":
    case "custom":
      return issue.input === undefined ? "is required" : "has a wrong form"
  }
}

const pathOf = (steps: readonly PropertyKey[]): string =>
  steps.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`
    return text === "" ? String(step) : `${text}.${String(step)}`
  }, "")

const issueOf = (issue: z.core.$ZodIssue): Issue => ({
  field: pathOf(issue.code === "unrecognized_keys" ? [...issue.path, issue.keys[0] ?? ""] : issue.path),
  message: issue.message,
})

/** Every problem, in the order of the schema. */
export const judgeAll = <Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): Result<z.infer<Schema>, readonly [Issue, ...Issue[]]> => {
  const parsed = schema.safeParse(value, { error: sentence })
  if (parsed.success) return { ok: true, value: parsed.data }
  const [first, ...others] = parsed.error.issues.map(issueOf)
  return { ok: false, error: [first ?? { field: "", message: "is invalid" }, ...others] }
}

/** The first problem. */
export const judge = <Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): Result<z.infer<Schema>, Issue> => {
  const judged = judgeAll(schema, value)
  return judged.ok ? judged : { ok: false, error: judged.error[0] }
}
