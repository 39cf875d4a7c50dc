/** What became of one attempt. Loops get these, not exceptions. */
import type { ErrorCode } from "@computerd/protocol/errors"

export interface Refusal {
  readonly status: number
  /** Absent: not the envelope of this API, or a code that this version does not know. */
  readonly code: ErrorCode | undefined
  readonly message: string
  readonly field: string | undefined
  readonly retryAfterMs: number | undefined
}

export type Outcome<Value> =
  | { readonly kind: "answered"; readonly value: Value }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  /** Nothing, or less than an answer, came back. */
  | { readonly kind: "unreachable"; readonly message: string }
  /** Something answered that does not speak this API. */
  | { readonly kind: "unexpected"; readonly message: string }
