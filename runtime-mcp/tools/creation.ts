/** What `spawn` and `start` share: both take the same arguments and give the same receipt. */
import { z } from "zod"
import { agent, computerId, idempotencyKey, input } from "./fields.ts"
import { adds } from "./tool.ts"
import { AdmittedTurn } from "./views.ts"

export const creation = {
  input: z.strictObject({ agent, input, idempotencyKey, computerId: computerId.optional() }),
  result: AdmittedTurn,
  annotations: adds,
  target: "agent_argument",
  rootOnly: true,
  mutating: true,
  content: "input",
} as const
