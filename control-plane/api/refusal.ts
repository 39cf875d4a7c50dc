/** Refusals as responses: one envelope, and a status for each code. */
import type { ApiError } from "@computerd/protocol/api/errors"
import type { Failure } from "@computerd/protocol/errors"
import { statusOf } from "../http/status.ts"

const headersOf = ({ code }: Failure): Record<string, string> => {
  if (code === "unauthorized") return { "WWW-Authenticate": "Bearer" }
  return code === "rate_limited" ? { "Retry-After": "1" } : {}
}

export const refusal = (error: Failure, headers: Record<string, string> = {}): Response => {
  const body: ApiError = { error }
  return Response.json(body, { status: statusOf(error.code), headers: { ...headersOf(error), ...headers } })
}
