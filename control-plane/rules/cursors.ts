/**
 * Opaque continuation of a list. A cursor is sealed over its position, caller, tool and filters, so that nobody makes
 * one up and none works for another caller, tool or filter. It holds no count: rows may come and go between pages.
 */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { Given } from "./given.ts"
import { canonical } from "./receipts.ts"

export interface ListIdentity {
  readonly caller: string
  readonly tool: string
  readonly filters: unknown
}

const sealedText = (list: ListIdentity, position: string): string =>
  canonical([list.caller, list.tool, list.filters, position])

export const cursorAfter = (list: ListIdentity, position: string, given: Given): string =>
  `${position}~${given.seal(sealedText(list, position))}`

const foreign = (field: string): ReturnType<typeof fail> =>
  fail(
    "invalid_arguments",
    `${field} does not continue this list; use it with the same filters, or start again without one`,
    field,
  )

/** Position after which the page begins; `null` for the first page. */
export const cursorPosition = (
  list: ListIdentity,
  cursor: string | undefined,
  given: Given,
  field = "cursor",
): Result<string | null> => {
  if (cursor === undefined) return ok(null)
  const end = cursor.lastIndexOf("~")
  const position = cursor.slice(0, Math.max(end, 0))
  const sealed = end > 0 && given.isSealOf(sealedText(list, position), cursor.slice(end + 1))
  return sealed ? ok(position) : foreign(field)
}
