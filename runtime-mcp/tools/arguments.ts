/**
 * Judges the arguments of one call, at the listener and again at the receiver. Every refusal names its argument and
 * repeats no value: `invalid_arguments`, `content_kind_unsupported` or `content_limit_exceeded`.
 */
import { type ContentProblem, contentProblem, contentSizeProblem } from "@computerd/protocol/content"
import { fail, firstIssue, ok, type Result } from "@computerd/protocol/errors"
import type { ToolName } from "@computerd/protocol/tools"
import type { z } from "zod"
import type { Tool } from "./tool.ts"

type Fields = { readonly [Field in "input" | "message"]?: unknown }

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Enough of an unknown argument's name to find it. */
const fieldMaxLength = 128

const refuse = (field: string, problem: string): ReturnType<typeof fail> => {
  const shown = field.slice(0, fieldMaxLength)
  return fail("invalid_arguments", `${shown} ${problem}`, shown)
}

const refuseContent = (field: string, problem: ContentProblem): ReturnType<typeof fail> =>
  fail(problem.code, `${field}${problem.at} ${problem.message}`, `${field}${problem.at}`)

const article = (noun: string): string => (/^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`)

/** Sentences that continue "the argument …"; texts of our own schemas take precedence over these. */
const sentence: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return "is required"
      return `must be ${article(issue.expected === "int" ? "integer" : issue.expected)}`
    case "invalid_value":
      if (issue.input === undefined) return "is required"
      return `must be ${issue.values.map((value) => JSON.stringify(value)).join(" or ")}`
    case "too_small":
      return `must be at least ${issue.minimum}`
    case "too_big":
      return `must be at most ${issue.maximum}`
    default:
      return undefined
  }
}

const onIssue = { error: sentence }

export const checkArguments = <Arguments>(
  tool: Tool<ToolName, Arguments>,
  value: unknown,
): Result<Arguments> => {
  if (!isFields(value)) return refuse("arguments", "must be an object")
  const content = tool.content === undefined ? undefined : value[tool.content]
  const field = tool.content ?? "arguments"
  const kind = contentProblem(content)
  if (kind !== undefined) return refuseContent(field, kind)
  const parsed = tool.input.safeParse(value, onIssue)
  if (!parsed.success) {
    const issue = firstIssue(parsed.error)
    return refuse(issue.field === "" ? "arguments" : issue.field, issue.message)
  }
  const size = content === undefined ? undefined : contentSizeProblem(content)
  return size === undefined ? ok(parsed.data) : refuseContent(field, size)
}
