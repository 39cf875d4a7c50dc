import { creation } from "./creation.ts"
import { tool } from "./tool.ts"

export const start = tool({
  ...creation,
  name: "start",
  title: "Start an independent Session",
  description:
    "Create an independent Session and give it its first Turn. It records this Session as its requester but is not owned by it: it goes on when this Session ends and cannot be controlled from here. Returns at once with sessionId and turnId.",
  operation: "start",
})
