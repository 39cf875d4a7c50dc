/** What authors pass as content, checked and copied: a string stands for one text part. Pure. */
import type { TextPart } from "@computerd/protocol/content"
import type { ErrorCode, Result } from "@computerd/protocol/errors"
import { fail } from "./failure.ts"

export interface ContentLimits {
  readonly maxParts: number
  readonly maxBytes: number
  /** The code of content that is above a limit. */
  readonly excess: ErrorCode
}

const partProblem = (part: unknown): readonly [ErrorCode, string] | undefined => {
  if (typeof part !== "object" || part === null || !("type" in part))
    return ["invalid_arguments", 'must be { type: "text", text }']
  if (part.type !== "text") return ["content_kind_unsupported", "must be a text part"]
  if (!("text" in part) || typeof part.text !== "string" || Object.keys(part).length !== 2)
    return ["invalid_arguments", "must have type and text, and nothing else"]
  return undefined
}

/** `name` is what the author calls it in the message: `respond`, `ask`. */
export const checkContent = (name: string, given: unknown, limits: ContentLimits): Result<TextPart[]> => {
  if (typeof given !== "string" && !Array.isArray(given))
    return fail("invalid_arguments", `${name} takes a string or an array of text parts`)
  const parts: readonly unknown[] = typeof given === "string" ? [{ type: "text", text: given }] : given
  if (parts.length > limits.maxParts)
    return fail(limits.excess, `${name} takes at most ${limits.maxParts} parts, not ${parts.length}`)
  const content: TextPart[] = []
  for (const [index, part] of parts.entries()) {
    const problem = partProblem(part)
    if (problem !== undefined) return fail(problem[0], `${name}: part ${index} ${problem[1]}`)
    if (isTextPart(part)) content.push({ type: "text", text: part.text })
  }
  const bytes = Buffer.byteLength(JSON.stringify(content))
  return bytes > limits.maxBytes
    ? fail(limits.excess, `${name} takes at most ${limits.maxBytes} bytes of JSON, not ${bytes}`)
    : { ok: true, value: content }
}

const isTextPart = (part: unknown): part is TextPart => partProblem(part) === undefined
