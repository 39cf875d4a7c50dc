/** The HTTP status of each error code: what the caller can do about it, in HTTP's words. */
import type { ErrorCode } from "@computerd/protocol/errors"
import { errorTraits } from "@computerd/protocol/errors"

const particular: Partial<Readonly<Record<ErrorCode, number>>> = {
  not_found: 404,
  unauthorized: 401,
  runtime_mcp_denied: 403,
  permission_denied: 403,
  method_not_allowed: 405,
  request_too_large: 413,
  rate_limited: 429,
  computer_in_use: 409,
  target_not_published: 404,
  idempotency_conflict: 409,
  already_running: 409,
  invalid_program: 422,
  invalid_runtime_mcp_policy: 422,
  bundle_failed: 422,
  internal: 500,
}

export const statusOf = (code: ErrorCode): number => {
  const own = particular[code]
  if (own !== undefined) return own
  return errorTraits[code].retryable ? 503 : 400
}
