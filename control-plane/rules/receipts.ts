/**
 * Receipts: one effect for each (caller, key).
 *
 * K1 the same request finds the first answer again, whatever has happened since
 * K2 another tool or other arguments under the same key conflict, and change nothing
 */
import type { Json } from "@computerd/protocol/content"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { Draft } from "./draft.ts"
import type { Receipt } from "./entities.ts"
import type { Given } from "./given.ts"

/** JSON with sorted keys and without what is `undefined`: equal requests have equal texts. */
export const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([left], [right]) => (left < right ? -1 : 1))
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`).join(",")}}`
}

export interface Repeatable {
  readonly caller: string
  readonly key: string
  readonly tool: string
  readonly fingerprint: string
}

export const repeatable = (
  request: {
    readonly caller: string
    readonly key: string
    readonly tool: string
    readonly arguments: unknown
  },
  given: Given,
): Repeatable => ({
  caller: request.caller,
  key: request.key,
  tool: request.tool,
  fingerprint: given.digest(`${request.tool}\n${canonical(request.arguments)}`),
})

/** K1, K2; `undefined`: this is the first time. */
export const retained = (draft: Draft, request: Repeatable): Result<Receipt | undefined> => {
  const receipt = draft.state.receipt(request.caller, request.key)
  if (receipt === undefined || receipt.fingerprint === request.fingerprint) return ok(receipt)
  return fail(
    "idempotency_conflict",
    `idempotencyKey was used for another request (${receipt.tool}); choose a new key, or repeat the first arguments`,
    "idempotencyKey",
  )
}

export const retain = (
  draft: Draft,
  receipt: Repeatable & {
    readonly answer: { readonly [field: string]: Json }
    readonly expiresAt: number | null
  },
  given: Given,
): void => {
  draft.addReceipt({ ...receipt, createdAt: given.now })
}
