/** Calls the tools of the Runtime MCP server through the stock client. */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js"

/** A failed call: the server's `code: message`. */
export class ToolError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = "ToolError"
    this.code = code
  }
}

export type ToolArguments = Readonly<Record<string, unknown>>
export type ToolResult = Readonly<Record<string, unknown>>

export interface Tools {
  /** Rejects with `ToolError` when the server refuses. */
  readonly call: (name: string, args: ToolArguments, signal: AbortSignal) => Promise<ToolResult>
}

const isObject = (value: unknown): value is ToolResult =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const textOf = (content: unknown): string => {
  const first: unknown = Array.isArray(content) ? content[0] : undefined
  if (isObject(first) && typeof first["text"] === "string") return first["text"]
  throw new ToolError("internal", "the server answered without text")
}

const refusal = (text: string): ToolError => {
  const [, code = "internal", message = text] = /^([a-z_]+): (.*)$/s.exec(text) ?? []
  return new ToolError(code, message)
}

export const toolsOf = (client: Client): Tools => ({
  call: async (name, args, signal) => {
    const { content, isError } = await client.callTool({ name, arguments: { ...args } }, undefined, {
      signal,
    })
    const text = textOf(content)
    if (isError === true) throw refusal(text)
    const value: unknown = JSON.parse(text)
    if (!isObject(value)) throw new ToolError("internal", `${name} answered with something that is no object`)
    return value
  },
})
