/** Arguments that several tools share, each with the text that a model reads. */
import { TextPart, utf8Bytes } from "@computerd/protocol/content"
import { ComputerId, HoldId, SessionId, TurnId } from "@computerd/protocol/ids"
import { idempotencyKeyMaxBytes, textPartsMax } from "@computerd/protocol/limits"
import { z } from "zod"

export const sessionId = SessionId.describe("Session id, as a tool returned it.")
export const turnId = TurnId.describe("Id of a Turn of that Session.")
export const holdId = HoldId.describe("The `id` of exactly one hold, as it was shown or returned.")
export const computerId = ComputerId.describe(
  "Leave out for a fresh Computer. Given, it must be this Session's own Computer and the connection must allow that.",
)

/** Keys of Agents are short; one that is well-formed and unknown gets a code of its own from the receiver. */
const agentKeyMaxLength = 128
export const agent = z
  .string()
  .min(1, "must not be empty")
  .max(agentKeyMaxLength, `must be at most ${agentKeyMaxLength} characters`)
  .describe("Exact Agent key of this Deployment, as list_agents shows it.")

const isKey = (key: string): boolean =>
  key.isWellFormed() && !key.includes("\0") && utf8Bytes(key) <= idempotencyKeyMaxBytes

export const idempotencyKey = z
  .string()
  .min(1, "must not be empty")
  .max(idempotencyKeyMaxBytes, `must be at most ${idempotencyKeyMaxBytes} bytes`)
  .refine(isKey, `must be at most ${idempotencyKeyMaxBytes} bytes of well-formed text without NUL`)
  .describe(
    "Your own name for this one request. Repeat the call with the same key and arguments when unsure.",
  )

const textParts = z.array(TextPart).max(textPartsMax)
export const input = textParts.describe("What the Turn is to work on; it gets these parts unchanged.")
export const message = textParts.describe("What to tell the running Turn.")

/** Cursors are made by the receiver and never this long. */
const cursorMaxLength = 1024
export const cursor = z
  .string()
  .min(1, "must not be empty; leave it out for the first page")
  .max(cursorMaxLength, `must be at most ${cursorMaxLength} characters`)
  .describe("Continuation from an earlier page of the same list.")
