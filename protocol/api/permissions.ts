/** What an API key may do in its Environment. A key has exactly those that it was made with. */
import { z } from "zod"

export const Permission = z.enum([
  "deployments:read",
  "deployments:write",
  "computers:read",
  "computers:write",
  "sessions:read",
  "sessions:write",
])
export type Permission = z.infer<typeof Permission>

export const permissionTexts: Readonly<Record<Permission, string>> = {
  "deployments:read": "Read Deployments and the Agents and Templates that they pin.",
  "deployments:write": "Publish programs, whose code then runs.",
  "computers:read": "Read Computers.",
  "computers:write": "Create and delete Computers.",
  "sessions:read": "Read Sessions, Turns, questions and events, with what they say.",
  "sessions:write": "Start Sessions, give them work, answer their questions and control them.",
}
