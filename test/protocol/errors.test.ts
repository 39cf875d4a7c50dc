import { expect, test } from "bun:test"
import { CodedError, ErrorCode, errorTraits, failure, firstIssue } from "@computerd/protocol/errors"
import { z } from "zod"

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
  expect(retryable).toEqual(["admission_unavailable", "store_unavailable"])
})

test("a thrown error keeps code and field", () => {
  const error = new CodedError(failure("invalid_program", "has no turn", "agents[a]"))
  expect({ code: error.code, field: error.field, message: error.message }).toEqual({
    code: "invalid_program",
    field: "agents[a]",
    message: "has no turn",
  })
})

test("the first issue of a schema is a safe path and never a value", () => {
  const schema = z.strictObject({ list: z.array(z.strictObject({ name: z.string() })) })
  const bad = schema.safeParse({ list: [{ name: "a" }, { name: 7, hidden: "s3cret" }] })
  const unknown = schema.safeParse({ list: [{ name: "a", hidden: "s3cret" }] })
  if (bad.success || unknown.success) throw new Error("both must fail")
  expect(firstIssue(bad.error).field).toBe("list[1].name")
  expect(firstIssue(unknown.error)).toEqual({ field: "list[0].hidden", message: "is not a known field" })
})
