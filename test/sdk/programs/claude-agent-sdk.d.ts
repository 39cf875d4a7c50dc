/** The part of the real package that a program here uses, in its shape; the package itself brings a native binary. */
declare module "@anthropic-ai/claude-agent-sdk" {
  interface HttpServer {
    type: "http"
    url: string
    headers?: Record<string, string>
  }

  type Message =
    | { type: "assistant"; message: unknown }
    | { type: "result"; subtype: "success"; result: string }
    | { type: "result"; subtype: "error_max_turns" | "error_during_execution" }

  export function query(request: {
    prompt: string
    options?: { mcpServers?: Record<string, HttpServer>; abortController?: AbortController }
  }): AsyncIterable<Message>
}
