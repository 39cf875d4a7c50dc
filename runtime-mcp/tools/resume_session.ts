import { z } from "zod"
import { holdId, idempotencyKey, sessionId } from "./fields.ts"
import { adds, tool } from "./tool.ts"
import { AcceptedHoldControl } from "./views.ts"

export const resumeSession = tool({
  name: "resume_session",
  title: "Release a hold",
  description:
    "Release exactly one hold of an owned descendant. Use the hold's own session_id and id, and only where can_release is true. A Turn that was interrupted is not run again; queued ones go on.",
  input: z.strictObject({
    sessionId: sessionId.describe("The hold's session_id."),
    holdId,
    idempotencyKey,
  }),
  result: AcceptedHoldControl,
  annotations: adds,
  operation: "resume_session",
  target: "session_argument",
  rootOnly: false,
  mutating: true,
})
