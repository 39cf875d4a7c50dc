import { z } from "zod"
import { cursor } from "./fields.ts"
import { reads, tool } from "./tool.ts"
import { ComputerView } from "./views.ts"

export const listComputers = tool({
  name: "list_computers",
  title: "List Computers",
  description:
    "This Session's own Computer and those of Sessions it owns or requested, 50 a page, with status and residency. Seeing a Computer does not permit placing work on it.",
  input: z.strictObject({ cursor: cursor.optional() }),
  result: z.strictObject({ computers: z.array(ComputerView), next_cursor: z.string().optional() }),
  annotations: reads,
  operation: "list_computers",
  target: "none",
  rootOnly: false,
  mutating: false,
})
