import { waitTurnTimeoutMaxMs } from "@computerd/protocol/limits"
import { z } from "zod"
import { sessionId, turnId } from "./fields.ts"
import { reads, tool } from "./tool.ts"
import { OutcomeView } from "./views.ts"

export const waitTurn = tool({
  name: "wait_turn",
  title: "Wait for a Turn",
  description:
    'Wait until one Turn settles, at most timeoutMs. Returns { "status": "settled", "outcome" } or { "status": "timeout" }. A timeout cancels nothing: call again to go on waiting.',
  input: z.strictObject({
    sessionId,
    turnId,
    timeoutMs: z.int().min(1).max(waitTurnTimeoutMaxMs).describe("Milliseconds, 1 to 30000."),
  }),
  result: z.union([
    z.strictObject({ status: z.literal("timeout") }),
    z.strictObject({ status: z.literal("settled"), outcome: OutcomeView }),
  ]),
  annotations: reads,
  operation: "inspect_turn",
  target: "session_argument",
  rootOnly: false,
  mutating: false,
})
