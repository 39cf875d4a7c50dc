import { ControlId, SessionId, TurnId } from "@computerd/protocol/ids"
import { z } from "zod"
import { idempotencyKey, sessionId, turnId } from "./fields.ts"
import { stops, tool } from "./tool.ts"

export const interruptTurn = tool({
  name: "interrupt_turn",
  title: "Interrupt one Turn",
  description:
    "Ask exactly one running Turn of an owned descendant to stop. It places no hold, so the next queued Turn runs once this one has stopped, and it does not touch the target's children. A receipt does not prove that the Turn has stopped.",
  input: z.strictObject({ sessionId, turnId, idempotencyKey }),
  result: z.strictObject({
    id: ControlId,
    sessionId: SessionId,
    turnId: TurnId,
    status: z.literal("accepted"),
  }),
  annotations: stops,
  operation: "interrupt_turn",
  target: "session_argument",
  rootOnly: false,
  mutating: true,
})
