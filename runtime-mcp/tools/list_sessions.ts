import { SessionStatus } from "@computerd/protocol/content"
import { sessionsPageDefault, sessionsPageMax } from "@computerd/protocol/limits"
import { z } from "zod"
import { cursor } from "./fields.ts"
import { reads, tool } from "./tool.ts"
import { SessionView } from "./views.ts"

export const listSessions = tool({
  name: "list_sessions",
  title: "List Sessions",
  description:
    "Find again the Sessions that this one owns or requested, ended ones too, newest first, each with its first Turn.",
  input: z.strictObject({
    relation: z
      .enum(["owned", "requested"])
      .describe("owned: direct children. requested: also the independent work that this Session started."),
    status: z
      .array(SessionStatus)
      .min(1, "must name at least one status; leave it out for all")
      .describe("Only Sessions of these statuses. Leave out for all.")
      .optional(),
    limit: z
      .int()
      .min(1)
      .max(sessionsPageMax)
      .describe(`Sessions a page; ${sessionsPageDefault} when left out.`)
      .optional(),
    cursor: cursor.optional(),
  }),
  result: z.strictObject({ sessions: z.array(SessionView), next_cursor: z.string().optional() }),
  annotations: reads,
  operation: "inspect_session",
  target: "each_entry",
  rootOnly: false,
  mutating: false,
})
