import { sessionControl } from "./session_control.ts"
import { tool } from "./tool.ts"
import { EndingSession } from "./views.ts"

export const cancelSession = tool({
  ...sessionControl,
  name: "cancel_session",
  title: "Cancel a Session",
  description:
    "Cancel the queued work of an owned descendant and its subtree, ask running work to stop, and close them. Returns the status after the call: closing or closed.",
  result: EndingSession,
  operation: "cancel_session",
})
