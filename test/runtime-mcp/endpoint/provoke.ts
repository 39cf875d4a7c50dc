/** For every class of the refusal table, a request that meets it. The compiler asks for one when a class is added. */
import type { EndpointDeps } from "@computerd/runtime-mcp/endpoint/endpoint"
import type { RefusalClass } from "@computerd/runtime-mcp/endpoint/refusals"
import type { Answer } from "./listener.ts"
import { ping, type RawRequest, rpc } from "./raw.ts"

export interface Provocation {
  readonly request: (port: number) => RawRequest
  readonly listener?: Partial<EndpointDeps>
  readonly answer?: Answer
  /** Calls that are parked before the request is sent. */
  readonly parked?: number
}

const sends = (request: RawRequest, rest: Omit<Provocation, "request"> = {}): Provocation => ({
  request: () => request,
  ...rest,
})

const never: Answer = () => new Promise(() => undefined)

const envelope = (version: string) => ({
  _meta: {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientCapabilities": {},
  },
})
const modern = (method: string, headers: Record<string, string> = {}): RawRequest => ({
  body: rpc(method, envelope("2026-07-28")),
  headers: { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, ...headers },
})

const inspect = rpc("tools/call", {
  name: "inspect_session",
  arguments: { sessionId: "ses_01890a5d-ac96-774b-bcce-b302099a8057" },
})

export const provocations: Readonly<Record<RefusalClass, Provocation>> = {
  foreign_host: sends({ body: ping, headers: { Host: "evil.test" } }),
  foreign_origin: sends({ body: ping, headers: { Origin: "http://evil.test" } }),
  unknown_path: sends({ body: ping, path: "/mcp/x", headers: { Authorization: undefined } }),
  method_not_allowed: sends({ method: "GET", headers: { "Content-Length": undefined } }),
  unauthorized: sends({ body: ping, headers: { Authorization: "Bearer somebody-else" } }),
  held: sends({ body: ping }, { listener: { admission: () => "held" } }),
  shutting_down: sends({ body: ping }, { listener: { admission: () => "shutting_down" } }),
  no_lease: sends({ body: ping }, { listener: { admission: () => "no_lease" } }),
  too_many_requests: sends({ body: ping }, { parked: 64, answer: never }),
  not_acceptable: sends({ body: ping, headers: { Accept: "text/html" } }),
  unsupported_media_type: sends({ body: ping, headers: { "Content-Type": "text/plain" } }),
  unsupported_encoding: sends({ body: ping, headers: { "Content-Encoding": "gzip" } }),
  body_too_large: sends({ body: ping, headers: { "Content-Length": "1048577" } }),
  body_timeout: sends(
    { body: "{", headers: { "Content-Length": "20" } },
    { listener: { limits: { toolCallMs: 50, requestMs: 100 } } },
  ),
  request_timeout: sends(
    { body: inspect },
    { answer: never, listener: { limits: { toolCallMs: 60_000, requestMs: 100 } } },
  ),
  failed: sends(
    { body: ping },
    {
      listener: {
        descriptor: () => {
          throw new Error("planted fault")
        },
      },
    },
  ),
  invalid_utf8: sends({ body: Uint8Array.from([0x22, 0xff, 0x22]) }),
  invalid_json: sends({ body: '{"jsonrpc":' }),
  batch: sends({ body: `[${ping}]` }),
  invalid_message: sends({ body: '{"id":1,"method":"ping"}' }),
  invalid_id: sends({ body: '{"jsonrpc":"2.0","id":1.5,"method":"ping"}' }),
  unsupported_version: sends({ body: ping, headers: { "MCP-Protocol-Version": "1999-01-01" } }),
  unknown_method: sends({ body: rpc("resources/list") }),
  invalid_initialize: sends({ body: rpc("initialize", { protocolVersion: 1 }) }),
  unknown_tool: sends({ body: rpc("tools/call", { name: "no_such_tool" }) }),
  invalid_call: sends({ body: rpc("tools/call", {}) }),
  unknown_cursor: sends({ body: rpc("tools/list", { cursor: "x" }) }),
  missing_envelope: sends({
    body: rpc("tools/list", { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } }),
    headers: { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list" },
  }),
  header_mismatch: sends(modern("tools/list", { "Mcp-Method": "tools/call" })),
  unsupported_new_version: sends({
    body: rpc("tools/list", envelope("2027-01-01")),
    headers: { "MCP-Protocol-Version": "2027-01-01", "Mcp-Method": "tools/list" },
  }),
  unknown_new_method: sends(modern("ping")),
}
