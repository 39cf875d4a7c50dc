/** What the three controls over a Session and its subtree share. */
import { z } from "zod"
import { idempotencyKey, sessionId } from "./fields.ts"
import { stops } from "./tool.ts"

export const sessionControl = {
  input: z.strictObject({ sessionId, idempotencyKey }),
  annotations: stops,
  target: "session_argument",
  rootOnly: false,
  mutating: true,
} as const
