import { z } from "zod"
import { idempotencyKey, input, sessionId } from "./fields.ts"
import { adds, tool } from "./tool.ts"
import { AdmittedTurn } from "./views.ts"

export const enqueue = tool({
  name: "enqueue",
  title: "Enqueue a Turn",
  description:
    "Give an existing open Session another Turn, which runs after those already queued. Holds of that Session stay in force. Returns at once with the turnId.",
  input: z.strictObject({ sessionId, input, idempotencyKey }),
  result: AdmittedTurn,
  annotations: adds,
  operation: "enqueue",
  target: "session_argument",
  rootOnly: false,
  mutating: true,
  content: "input",
})
