import { sessionControl } from "./session_control.ts"
import { tool } from "./tool.ts"
import { AcceptedHoldControl } from "./views.ts"

export const interruptSession = tool({
  ...sessionControl,
  name: "interrupt_session",
  title: "Interrupt a Session",
  description:
    "Place a hold on an owned descendant and ask running work in its whole subtree to stop. Queued Turns stay queued until the hold is released. Returns the holdId. A receipt does not prove that anything has stopped.",
  result: AcceptedHoldControl,
  operation: "interrupt_session",
})
