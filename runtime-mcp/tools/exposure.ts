/** What one connection is shown: the served tools that its scope and its Session's role let it call, in catalogue order. */
import type { SessionAssignment } from "@computerd/protocol/link"
import type { Scope } from "@computerd/protocol/scope"
import { grantsOperation } from "../policy/scope.ts"
import { catalogue, findTool } from "./catalogue.ts"
import type { Tool } from "./tool.ts"

export type Role = SessionAssignment["role"]

/** Whether the scope grants the tool for any target. The exact target is judged by the receiver. */
export const toolGranted = (scope: Scope, tool: Tool): boolean => {
  switch (tool.operation) {
    case "none":
      return true
    case "creation":
      return grantsOperation(scope, "spawn") || grantsOperation(scope, "start")
    default:
      return grantsOperation(scope, tool.operation)
  }
}

export const exposedTools = (scope: Scope, role: Role): readonly Tool[] =>
  catalogue.filter(
    (tool) =>
      findTool(tool.name) !== undefined && toolGranted(scope, tool) && !(tool.rootOnly && role === "child"),
  )
