import { expect, test } from "bun:test"
import { CodedError, ErrorCode, errorTraits, failure } from "@computerd/protocol/errors"

test("every code has one sentence of advice", () => {
  for (const code of ErrorCode.options) expect(errorTraits[code].advice).toMatch(/^[A-Z].*\.$/)
})

test("R174 the registry knows the six codes of a Slack binding", () => {
  const reserved = [
    "channel_unavailable",
    "start_message_too_large",
    "source_conversation_pending",
    "source_conversation_unavailable",
    "conversation_changed",
    "target_workspace_mismatch",
  ]
  for (const code of reserved) expect(ErrorCode.safeParse(code).success).toBe(true)
})

test("only what may pass later is retryable", () => {
  const retryable = ErrorCode.options.filter((code) => errorTraits[code].retryable)
  expect(retryable).toEqual(["admission_unavailable", "rate_limited", "store_unavailable"])
})

test("a thrown error keeps code and field", () => {
  const error = new CodedError(failure("invalid_program", "has no turn", "agents[a]"))
  expect({ code: error.code, field: error.field, message: error.message }).toEqual({
    code: "invalid_program",
    field: "agents[a]",
    message: "has no turn",
  })
})
