/** A catalogue entry as `tools/list` shows it. The schema is JSON Schema 2020-12, made from the one that checks the call. */
import { z } from "zod"
import type { Annotations, Tool } from "./tool.ts"

export interface ListedTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: z.core.JSONSchema.BaseSchema
  readonly annotations: Annotations
}

/** Patterns of ids tell a model nothing that it could use: it repeats ids that it was given. */
const withoutPattern = (schema: z.core.JSONSchema.BaseSchema): void => {
  delete schema.pattern
}

const inputSchema = (tool: Tool): z.core.JSONSchema.BaseSchema => {
  const schema = z.toJSONSchema(tool.input, {
    target: "draft-2020-12",
    io: "input",
    override: ({ jsonSchema }) => withoutPattern(jsonSchema),
  })
  // 2020-12 is what MCP assumes of a schema that names no dialect, and the name costs every model a line a tool.
  const { $schema: _dialect, ...rest } = schema
  return rest
}

const list = (tool: Tool): ListedTool => ({
  name: tool.name,
  title: tool.title,
  description: tool.description,
  inputSchema: inputSchema(tool),
  annotations: tool.annotations,
})

const listed = new WeakMap<Tool, ListedTool>()

/** Made at most once: a schema costs more than all else in a scope's first request, and all scopes share it. */
export const listedTool = (tool: Tool): ListedTool => {
  const known = listed.get(tool)
  if (known !== undefined) return known
  const made = list(tool)
  listed.set(tool, made)
  return made
}
