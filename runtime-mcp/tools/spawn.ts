import { creation } from "./creation.ts"
import { tool } from "./tool.ts"

export const spawn = tool({
  ...creation,
  name: "spawn",
  title: "Spawn a child Session",
  description:
    "Create a child Session that this Session owns and give it its first Turn. Without computerId it gets a fresh Computer. Returns at once with sessionId and turnId; the work runs on its own. Controls on this Session also act on the child.",
  operation: "spawn",
})
