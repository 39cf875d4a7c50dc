import { sessionControl } from "./session_control.ts"
import { tool } from "./tool.ts"
import { EndingSession } from "./views.ts"

export const closeSession = tool({
  ...sessionControl,
  name: "close_session",
  title: "Close a Session",
  description:
    "Take no more work for an owned descendant and its subtree and let what can run finish. Held queued Turns and open questions are cancelled. Returns the status after the call: closing or closed.",
  result: EndingSession,
  operation: "close_session",
})
