import { z } from "zod"
import { sessionId, turnId } from "./fields.ts"
import { reads, tool } from "./tool.ts"
import { TurnView } from "./views.ts"

export const inspectTurn = tool({
  name: "inspect_turn",
  title: "Inspect a Turn",
  description:
    "The state of one Turn now, without waiting: queued, running, completed, failed, interrupted or cancelled, with its result, response or error once it has settled.",
  input: z.strictObject({ sessionId, turnId }),
  result: TurnView,
  annotations: reads,
  operation: "inspect_turn",
  target: "session_argument",
  rootOnly: false,
  mutating: false,
})
