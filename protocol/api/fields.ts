/** Fields that many requests share. */
import { z } from "zod"
import { utf8Bytes } from "../content.ts"
import { idempotencyKeyMaxBytes } from "../limits.ts"
import { apiPageDefault, apiPageMax } from "./limits.ts"

const keyForm = `must be 1 to ${idempotencyKeyMaxBytes} bytes of well-formed text without NUL`

const isKey = (key: string): boolean =>
  key.isWellFormed() && !key.includes("\0") && utf8Bytes(key) <= idempotencyKeyMaxBytes

const key = z.string().min(1, keyForm).max(idempotencyKeyMaxBytes, keyForm).refine(isKey, keyForm)

export const IdempotencyKey = key.describe(
  "Chosen by the caller for one request. The same request under the same key has one effect and one answer.",
)
export const SessionKey = key.describe("A name for the Session; no two that are not closed share one.")
export const ComputerKey = key.describe("A name for the Computer; no two that are not deleted share one.")

export const noParams = z.strictObject({})
export const noQuery = z.strictObject({})

export const cursor = z
  .string()
  .min(1)
  .max(512)
  .optional()
  .describe("The `nextCursor` of the page before, asked for with the same filters.")
export const limit = z.coerce.number().int().min(1).max(apiPageMax).default(apiPageDefault)

export const pageQuery = { cursor, limit }

export const nextCursor = z.string().optional().describe("Absent on the last page.")
