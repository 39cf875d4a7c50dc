import { z } from "zod"
import { reads, tool } from "./tool.ts"

const entry = { name: z.string(), description: z.string() }

export const skills = tool({
  name: "skills",
  title: "Read the Helmr guide",
  description:
    'How to use this server. Call skills({}) for the list, then skills({ name: "helmr-runtime" }) for the guide to everything this connection can do. It changes nothing.',
  input: z.strictObject({
    name: z.string().describe("Exact name from the list. Leave out to get the list.").optional(),
  }),
  result: z.union([
    z.strictObject({ skills: z.array(z.strictObject(entry)) }),
    z.strictObject({ ...entry, content: z.string() }),
  ]),
  annotations: reads,
  operation: "none",
  target: "none",
  rootOnly: false,
  mutating: false,
})
