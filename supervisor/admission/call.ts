/** One tool call on its way to the control plane: what kind it is, and what its caller is told when it is cut short. */

import { fail } from "@computerd/protocol/errors"
import { mcpToolCallTimeoutMs, waitTurnTimeoutMaxMs } from "@computerd/protocol/limits"
import type { AdmissionAnswer, AdmissionRequest } from "@computerd/protocol/link"
import { findTool } from "@computerd/runtime-mcp/tools/catalogue"

/**
 * `mutation` leaves a receipt and is sent once; `read` may be sent again after a cut; `wait` ends by itself, with
 * nothing but the news that it is over.
 */
export type CallKind = "mutation" | "read" | "wait"

export const kindOf = (tool: string): CallKind => {
  if (tool === "wait_turn") return "wait"
  return findTool(tool)?.mutating === false ? "read" : "mutation"
}

const waitTimeoutMs = (request: AdmissionRequest): number => {
  const { timeoutMs: asked } = request.arguments
  return typeof asked === "number" ? Math.min(asked, waitTurnTimeoutMaxMs) : waitTurnTimeoutMaxMs
}

/** How long its caller waits at most. */
export const patienceMs = (kind: CallKind, request: AdmissionRequest): number =>
  kind === "wait" ? waitTimeoutMs(request) : mcpToolCallTimeoutMs

/** The same request with what is left of its own time. */
export const remaining = (request: AdmissionRequest, leftMs: number): AdmissionRequest => ({
  ...request,
  arguments: { ...request.arguments, timeoutMs: Math.max(1, Math.floor(leftMs)) },
})

export const idempotencyKeyOf = (request: AdmissionRequest): string | undefined => {
  const { idempotencyKey: key } = request.arguments
  return typeof key === "string" ? key : undefined
}

export const waitOver: AdmissionAnswer = { ok: true, value: { status: "timeout" } }

export const isTimeout = (answer: AdmissionAnswer): boolean => {
  if (!answer.ok) return false
  const { status } = answer.value
  return status === "timeout"
}

export const notSent = (why: string): AdmissionAnswer =>
  fail("admission_unavailable", `${why}; nothing was sent, so the same call may be retried freely`)

export const outcomeUnknown = (why: string): AdmissionAnswer =>
  fail(
    "admission_unavailable",
    `${why}; the outcome is unknown, so retry the same call with the same idempotencyKey`,
  )

export const unanswered = (why: string): AdmissionAnswer =>
  fail("admission_unavailable", `${why}; nothing was changed, so the same call may be retried`)
