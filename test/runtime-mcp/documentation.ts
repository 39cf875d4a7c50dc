/** The tables of `docs/runtime-mcp.md`, made from the catalogue and the refusal table. */
import { type Refusal, refusals } from "@computerd/runtime-mcp/endpoint/refusals"
import { catalogue, servedTools } from "@computerd/runtime-mcp/tools/catalogue"
import { listedTool } from "@computerd/runtime-mcp/tools/listing"
import type { Tool } from "@computerd/runtime-mcp/tools/tool"

const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n")

const grant = ({ operation }: Tool): string => {
  if (operation === "none") return "none"
  return operation === "creation" ? "`spawn` or `start`" : `\`${operation}\``
}

const argumentNames = (tool: Tool): string => {
  const { properties = {}, required = [] } = listedTool(tool).inputSchema
  const names = Object.keys(properties).map((name) =>
    required.includes(name) ? `\`${name}\`` : `\`${name}\`?`,
  )
  return names.join(", ")
}

const effect = ({ annotations }: Tool): string => {
  if (annotations.readOnlyHint) return "reads"
  return annotations.destructiveHint ? "stops work" : "adds or releases work"
}

export const toolRows = (): string =>
  table(
    ["tool", "arguments", "grant", "who", "effect", "served"],
    catalogue.map((tool) => [
      `\`${tool.name}\``,
      argumentNames(tool),
      grant(tool),
      tool.rootOnly ? "root Sessions" : "all Sessions",
      effect(tool),
      servedTools.includes(tool.name) ? "yes" : "not yet",
    ]),
  )

const refusalRow = ([name, refusal]: readonly [string, Refusal]): readonly string[] => {
  const headers = refusal.kind === "http" ? Object.entries(refusal.headers ?? {}) : []
  return [
    `\`${name}\``,
    String(refusal.status),
    refusal.kind === "http" ? "text/plain" : `application/json, ${refusal.code}`,
    refusal.connection,
    headers.map(([header, value]) => `\`${header}: ${value}\``).join(", "),
    refusal.kind === "http" ? refusal.text : refusal.message,
  ]
}

export const refusalRows = (): string =>
  table(
    ["class", "status", "body", "connection", "headers", "what it says"],
    Object.entries(refusals).map(([name, refusal]) => refusalRow([name, refusal])),
  )
