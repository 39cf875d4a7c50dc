/** The one response of a Turn. Being refused for its size is no response: a shorter one may follow. */
import type { TextPart } from "@computerd/protocol/content"
import { outcomeMaxBytes } from "@computerd/protocol/limits"
import { HelmrError } from "@helmr/sdk/error"
import { checkContent } from "./content.ts"
import { failure } from "./failure.ts"

export type Response =
  | { readonly kind: "none" }
  | { readonly kind: "given"; readonly content: readonly TextPart[] }
  /** Every response that was tried is above the limit. */
  | { readonly kind: "too_large"; readonly message: string }

const limits = {
  maxParts: Number.POSITIVE_INFINITY,
  maxBytes: outcomeMaxBytes,
  excess: "result_too_large",
} as const

/** The next response, or the error for whoever called. */
export const respond = (
  before: Response,
  content: unknown,
): { readonly response: Response; readonly error?: HelmrError } => {
  if (before.kind === "given") {
    const message = "This Turn has responded; write further text with output.write or in the result."
    return { response: before, error: new HelmrError(failure("already_responded", message)) }
  }
  const checked = checkContent("respond", content, limits)
  if (checked.ok) return { response: { kind: "given", content: checked.value } }
  const error = new HelmrError(checked.error)
  return checked.error.code === "result_too_large"
    ? { response: { kind: "too_large", message: checked.error.message }, error }
    : { response: before, error }
}
