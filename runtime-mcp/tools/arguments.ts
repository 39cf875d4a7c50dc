/**
 * Judges the arguments of one call, at the listener and again at the receiver. Every refusal names its argument and
 * repeats no value: `invalid_arguments`, `content_kind_unsupported` or `content_limit_exceeded`.
 */
import { type ContentProblem, contentProblem, contentSizeProblem } from "@computerd/protocol/content"
import { fail, type Result } from "@computerd/protocol/errors"
import { judge } from "@computerd/protocol/judge"
import type { ToolName } from "@computerd/protocol/tools"
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

export const checkArguments = <Arguments>(
  tool: Tool<ToolName, Arguments>,
  value: unknown,
): Result<Arguments> => {
  if (!isFields(value)) return refuse("arguments", "must be an object")
  const content = tool.content === undefined ? undefined : value[tool.content]
  const field = tool.content ?? "arguments"
  const kind = contentProblem(content)
  if (kind !== undefined) return refuseContent(field, kind)
  const judged = judge(tool.input, value)
  if (!judged.ok) return refuse(judged.error.field || "arguments", judged.error.message)
  const size = content === undefined ? undefined : contentSizeProblem(content)
  return size === undefined ? judged : refuseContent(field, size)
}
