/**
 * The one registry of error codes. Each entry says whether the same request may succeed later and what the reader
 * should do next; the compiler asks for an entry for every code. Codes of tool admissions are those of the Runtime
 * MCP reference; the six channel codes belong to a Slack binding and are reserved until there is one.
 */
import { z } from "zod"

/** Apart from the schema, so that types made of the names alone, such as those of the SDK, need no zod. */
export const errorCodes = [
  // Runtime MCP admissions
  "invalid_arguments",
  "invalid_runtime_mcp_policy",
  "runtime_mcp_denied",
  "runtime_mcp_scope_limit",
  "root_session_required",
  "target_not_published",
  "idempotency_conflict",
  "authority_changed",
  "admission_unavailable",
  "message_closed",
  "content_kind_unsupported",
  "content_limit_exceeded",
  "delegation_depth_exceeded",
  "turn_not_interruptible",
  "capacity_wait_blocked",
  "unknown_skill",
  // Reserved for a Slack binding
  "channel_unavailable",
  "start_message_too_large",
  "source_conversation_pending",
  "source_conversation_unavailable",
  "conversation_changed",
  "target_workspace_mismatch",
  // Outcomes of a Turn
  "handler_failed",
  "result_not_json",
  "result_too_large",
  "process_lost",
  "stop_timeout",
  "interrupted",
  "cancelled",
  // Inside a Session process
  "session_shutdown",
  "already_responded",
  "turn_settled",
  // Publication
  "invalid_program",
  "bundle_failed",
  // Why the first Turn of a Session cannot run
  "session_held",
  "template_unsupported",
  // Public API
  "permission_denied",
  "rate_limited",
  "request_too_large",
  "method_not_allowed",
  "computer_in_use",
  // Links and processes
  "invalid_frame",
  "unsupported_protocol",
  "unauthorized",
  "superseded",
  "invalid_configuration",
  "already_running",
  "store_unavailable",
  "not_found",
  "internal",
] as const
export const ErrorCode = z.enum(errorCodes)
export type ErrorCode = z.infer<typeof ErrorCode>

export interface ErrorTraits {
  /** The very same request may pass later. */
  readonly retryable: boolean
  /** One sentence for whoever reads the error. */
  readonly advice: string
}

const final = (advice: string): ErrorTraits => ({ retryable: false, advice })
const later = (advice: string): ErrorTraits => ({ retryable: true, advice })
const slack = final("Needs a Session bound to a Slack thread.")

export const errorTraits: Readonly<Record<ErrorCode, ErrorTraits>> = {
  invalid_arguments: final("Correct the named argument; do not retry the same call."),
  invalid_runtime_mcp_policy: final("Correct the named policy field."),
  runtime_mcp_denied: final("Use what this connection grants, or ask for a policy that includes it."),
  runtime_mcp_scope_limit: final("Reuse a policy that this process already asked for."),
  root_session_required: final("Report the need to the owner of this Session."),
  target_not_published: final("Choose an Agent that list_agents shows."),
  idempotency_conflict: final("Use a new key for a new request, or repeat the first arguments exactly."),
  authority_changed: final("Inspect the target before deciding again."),
  admission_unavailable: later("Retry the same call with the same idempotencyKey."),
  message_closed: final("Enqueue a Turn instead if the text still matters."),
  content_kind_unsupported: final("Send text parts only."),
  content_limit_exceeded: final("Send less: fewer parts or shorter text."),
  delegation_depth_exceeded: final("Do the work in this Session or report it to the owner."),
  turn_not_interruptible: final("Inspect the Turn; only a running one can be interrupted."),
  capacity_wait_blocked: final("End this Turn so that its Computer can be given to the queued work."),
  unknown_skill: final("Call skills({}) for the names that exist."),
  channel_unavailable: slack,
  start_message_too_large: slack,
  source_conversation_pending: slack,
  source_conversation_unavailable: slack,
  conversation_changed: slack,
  target_workspace_mismatch: slack,
  handler_failed: final("Read the message; the Session stays open."),
  result_not_json: final("Return a value that JSON can hold, or nothing."),
  result_too_large: final("Return a smaller value; write large data to a file."),
  process_lost: final("The work may be half done; inspect before sending it again."),
  stop_timeout: final("The handler ignored its signal and its process was ended."),
  interrupted: final("Send the input again if it still matters."),
  cancelled: final("The work was cancelled on purpose."),
  session_shutdown: final("This process is ending; ask again from the next one."),
  already_responded: final("A Turn responds once."),
  turn_settled: final("The Turn has ended; use the context of the running one."),
  invalid_program: final("Correct the named definition and publish again."),
  bundle_failed: final("Correct the program so that it bundles, then publish again."),
  session_held: final("Correct what the reason names and start another Session."),
  template_unsupported: final("Ask less of the Template, or run it where it is honoured."),
  permission_denied: final("Use an API key that has the named permission."),
  rate_limited: later("Wait as long as Retry-After says, then send the same request."),
  request_too_large: final("Send less in one request."),
  method_not_allowed: final("Use a method that the Allow header names."),
  computer_in_use: final("Close or cancel the Computer's Sessions first."),
  invalid_frame: final("The peer speaks another version or is faulty; see its log."),
  unsupported_protocol: final("Upgrade the older side."),
  unauthorized: final("Present the credential that was issued for this link."),
  superseded: final("Another supervisor owns this Computer now."),
  invalid_configuration: final("Correct the named key."),
  already_running: final("Stop the other process first."),
  store_unavailable: later("Free disk space or repair the store; it recovers alone."),
  not_found: final("Check the id."),
  internal: final("See the log of the component that answered."),
}

/** An error as a value. `field` is a safe path into what the caller sent, never a value from it. */
export const Failure = z.strictObject({
  code: ErrorCode,
  message: z.string(),
  field: z.string().optional(),
})
export type Failure = Readonly<z.infer<typeof Failure>>

export type Result<Value, Refusal = Failure> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: Refusal }

export const ok = <Value>(value: Value): { readonly ok: true; readonly value: Value } => ({ ok: true, value })

export const failure = (code: ErrorCode, message: string, field?: string): Failure =>
  field === undefined ? { code, message } : { code, message, field }

export const fail = (
  code: ErrorCode,
  message: string,
  field?: string,
): { readonly ok: false; readonly error: Failure } => ({ ok: false, error: failure(code, message, field) })

/** For the edges where an error must be thrown: SDK callers and command lines. */
export class CodedError extends Error {
  readonly code: ErrorCode
  readonly field: string | undefined

  constructor(error: Failure) {
    super(error.message)
    this.name = "CodedError"
    this.code = error.code
    this.field = error.field
  }
}
