/**
 * Every way in which the endpoint says no, as data: status, body, and what becomes of the connection. Clients show
 * these bodies raw, so each says what to do next. Nothing of the request is repeated in them. Tests are generated from
 * this table, one for each class.
 */
import {
  mcpConcurrentRequestsMax,
  mcpRequestBodyMaxBytes,
  mcpRetryAfterSeconds,
} from "@computerd/protocol/limits"
import { newVersion, oldVersions } from "./versions.ts"

export interface HttpRefusal {
  readonly kind: "http"
  readonly status: number
  /** Body, as `text/plain`. */
  readonly text: string
  readonly headers?: Readonly<Record<string, string>>
  /** `close` where the rest of the body will not be read. */
  readonly connection: "keep" | "close"
}

interface RpcRefusal {
  readonly kind: "rpc"
  readonly status: number
  readonly code: number
  /** `message` of the JSON-RPC error; the body is `application/json` and echoes the request's id where it has one. */
  readonly message: string
  readonly data?: "supported_versions"
  readonly connection: "keep"
}

export type Refusal = HttpRefusal | RpcRefusal

const retryAfter = { "Retry-After": String(mcpRetryAfterSeconds) }

const http = (
  status: number,
  text: string,
  rest: { readonly headers?: Readonly<Record<string, string>>; readonly connection?: "keep" | "close" } = {},
): HttpRefusal => ({ kind: "http", status, text, connection: "keep", ...rest })

const rpc = (status: number, code: number, message: string): RpcRefusal => ({
  kind: "rpc",
  status,
  code,
  message,
  connection: "keep",
})

const withVersions = (refusal: RpcRefusal): RpcRefusal => ({ ...refusal, data: "supported_versions" })

export const refusals = {
  // Before the body is read
  foreign_host: http(403, "This endpoint answers to its own loopback Host only.", { connection: "close" }),
  foreign_origin: http(403, "Requests from web pages are not accepted here.", { connection: "close" }),
  unknown_path: http(404, "Not found. The MCP endpoint is POST /mcp."),
  method_not_allowed: http(405, "Only POST is served here: no event stream, and no session to delete.", {
    headers: { Allow: "POST" },
  }),
  unauthorized: http(
    401,
    "The Authorization header is missing or belongs to no living connection of this Session process. Ask ctx.mcp.getConnectionOptions() for the current one.",
    { headers: { "WWW-Authenticate": "Bearer" } },
  ),
  held: http(503, "This Session is held. Retry after the hold is released.", { headers: retryAfter }),
  shutting_down: http(503, "This Session process is ending. A later process has a connection of its own.", {
    headers: retryAfter,
  }),
  no_lease: http(503, "This Computer is waiting for its control plane. Nothing was done; retry shortly.", {
    headers: retryAfter,
  }),
  too_many_requests: http(
    503,
    `${mcpConcurrentRequestsMax} requests of this Session process are open already. Nothing was done; retry shortly.`,
    { headers: retryAfter },
  ),
  not_acceptable: http(406, "Answers are application/json; the Accept header must allow that."),
  unsupported_media_type: http(415, "Send Content-Type: application/json in UTF-8."),
  unsupported_encoding: http(415, "Send the body without Content-Encoding.", {
    headers: { "Accept-Encoding": "identity" },
  }),
  body_too_large: http(413, `The body is larger than ${mcpRequestBodyMaxBytes} bytes. Nothing was done.`, {
    connection: "close",
  }),

  // While the body is read, or after
  body_timeout: http(408, "The body did not arrive in time. Nothing was done.", { connection: "close" }),
  request_timeout: http(
    504,
    "The request took too long and its outcome is unknown. Repeat a mutation with the same idempotencyKey.",
  ),
  failed: http(500, "The endpoint failed. Repeat a mutation with the same idempotencyKey.", {
    connection: "close",
  }),

  // The message
  invalid_utf8: rpc(400, -32700, "The body is not UTF-8"),
  invalid_json: rpc(400, -32700, "The body is not JSON"),
  batch: rpc(400, -32600, "Batches are not served; send one message a request"),
  invalid_message: rpc(400, -32600, "The body is not a JSON-RPC 2.0 message"),
  invalid_id: rpc(400, -32600, "The id must be a string or a safe integer"),

  // Clients of 2025-11-25 and earlier
  unsupported_version: rpc(
    400,
    -32000,
    `MCP-Protocol-Version must be one of ${[newVersion, ...oldVersions].join(", ")}`,
  ),
  unknown_method: rpc(200, -32601, "Method not found"),
  invalid_initialize: rpc(
    200,
    -32602,
    "initialize needs protocolVersion, capabilities and clientInfo with name and version",
  ),

  // Both
  unknown_tool: rpc(200, -32602, "Unknown tool; tools/list names those of this connection"),
  invalid_call: rpc(200, -32602, "tools/call needs name, a string"),
  unknown_cursor: rpc(200, -32602, "Unknown cursor; tools/list has one page"),

  // Clients of 2026-07-28
  missing_envelope: rpc(
    400,
    -32602,
    "params._meta needs io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities",
  ),
  header_mismatch: rpc(
    400,
    -32020,
    "MCP-Protocol-Version, Mcp-Method and, for tools/call, Mcp-Name must be present and agree with the body",
  ),
  unsupported_new_version: withVersions(rpc(400, -32022, "Unsupported protocol version")),
  unknown_new_method: rpc(404, -32601, "Method not found"),
} as const satisfies Readonly<Record<string, Refusal>>

export type RefusalClass = keyof typeof refusals
export type RpcRefusalClass = {
  [Name in RefusalClass]: (typeof refusals)[Name] extends RpcRefusal ? Name : never
}[RefusalClass]
export type HttpRefusalClass = Exclude<RefusalClass, RpcRefusalClass>
