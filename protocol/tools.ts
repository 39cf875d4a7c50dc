/** Names of the Runtime MCP server, its tools and its skill. What a tool is stands in `runtime-mcp/tools`. */
import { z } from "zod"

export const runtimeServerName = "helmr-runtime"
export const runtimeSkillName = "helmr-runtime"

export const ToolName = z.enum([
  "skills",
  "list_agents",
  "list_computers",
  "spawn",
  "start",
  "enqueue",
  "send_turn",
  "interrupt_turn",
  "interrupt_session",
  "resume_session",
  "close_session",
  "cancel_session",
  "inspect_session",
  "list_sessions",
  "inspect_turn",
  "wait_turn",
])
export type ToolName = z.infer<typeof ToolName>
