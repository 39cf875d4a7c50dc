import { z } from "zod"
import { sessionId } from "./fields.ts"
import { reads, tool } from "./tool.ts"
import { SessionView } from "./views.ts"

export const inspectSession = tool({
  name: "inspect_session",
  title: "Inspect a Session",
  description:
    "One accessible Session: its Agent, pins, parent and requester, status, holds and first Turn. It shows no input, output or history.",
  input: z.strictObject({ sessionId }),
  result: SessionView,
  annotations: reads,
  operation: "inspect_session",
  target: "session_argument",
  rootOnly: false,
  mutating: false,
})
