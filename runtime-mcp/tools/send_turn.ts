import { MessageId, TurnId } from "@computerd/protocol/ids"
import { z } from "zod"
import { idempotencyKey, message, sessionId, turnId } from "./fields.ts"
import { adds, tool } from "./tool.ts"

export const sendTurn = tool({
  name: "send_turn",
  title: "Send a message to a running Turn",
  description:
    "Send a message to exactly one running Turn of an owned descendant. It never becomes a queued Turn: when that Turn takes no more messages the call fails with message_closed. A result says that the message was admitted, not that the Turn read it.",
  input: z.strictObject({ sessionId, turnId, message, idempotencyKey }),
  result: z.strictObject({ id: MessageId, turnId: TurnId }),
  annotations: adds,
  operation: "send_turn",
  target: "session_argument",
  rootOnly: false,
  mutating: true,
  content: "message",
})
