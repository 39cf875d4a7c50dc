/** Keys, retries, and what to do on each error. An error is listed where a granted tool can give it. */
import type { ErrorCode } from "@computerd/protocol/errors"
import { ToolName } from "@computerd/protocol/tools"
import { always, type Section } from "./section.ts"

export const mutating: readonly ToolName[] = [
  "spawn",
  "start",
  "enqueue",
  "send_turn",
  "interrupt_turn",
  "interrupt_session",
  "resume_session",
  "close_session",
  "cancel_session",
]

export const retries: Section = {
  heading: "Keys and retries",
  about: mutating,
  paragraphs: [
    always(
      "Every call that changes something needs an `idempotencyKey`: your own name for that one request, such as the id of your Turn and a counter. The same key with the same arguments has one effect and gives one receipt, however often it is sent.",
    ),
    always(
      "When a call ends without an answer (a timeout, a lost connection, `admission_unavailable`), its outcome is unknown. Repeat it with the same key and exactly the same arguments. Never use a new key for a retry: that asks for the work a second time. Use a new key for every new request, also when its arguments happen to be equal.",
    ),
  ],
}

const creating: readonly ToolName[] = ["spawn", "start"]
const withContent: readonly ToolName[] = ["spawn", "start", "enqueue", "send_turn"]
const remote: readonly ToolName[] = ToolName.options.filter((name) => name !== "skills")

/** Which tools give the code, and what the reader does about it. */
const advice: readonly (readonly [code: ErrorCode, tools: readonly ToolName[], text: string])[] = [
  [
    "invalid_arguments",
    ToolName.options,
    "the named argument is wrong, or names what does not exist or is not yours to see. Correct it; the same call will fail again.",
  ],
  [
    "runtime_mcp_denied",
    remote,
    "this connection does not grant that. Do not retry; work with what it grants, or say what is missing.",
  ],
  [
    "admission_unavailable",
    remote,
    "for the moment it cannot be decided. Wait a little and repeat the same call unchanged.",
  ],
  [
    "authority_changed",
    remote,
    "this Session lost its authority during the call. Look again before deciding anew.",
  ],
  [
    "internal",
    remote,
    "a fault of the server, not of your call. Repeat it once unchanged; if it comes again, say so and go on without it.",
  ],
  ["target_not_published", creating, "no such Agent in this Deployment. Use a listed key."],
  [
    "delegation_depth_exceeded",
    creating,
    "the chain of delegated work is as deep as it may be. Do it here or report it.",
  ],
  [
    "idempotency_conflict",
    mutating,
    "that key was used with other arguments. Repeat the first ones exactly, or take a new key for a new request.",
  ],
  ["content_kind_unsupported", withContent, "only text parts are taken."],
  [
    "content_limit_exceeded",
    withContent,
    "at most 64 parts and 256 KiB. Send less, or put it into a file that the work can reach.",
  ],
  ["message_closed", ["send_turn"], "the Turn takes no more messages."],
  ["turn_not_interruptible", ["interrupt_turn"], "the Turn was queued or had settled; nothing was changed."],
  [
    "capacity_wait_blocked",
    ["wait_turn"],
    "waiting cannot succeed while this Session keeps its Computer. End your Turn.",
  ],
  ["unknown_skill", ["skills"], "no skill has that exact name."],
]

export const renderErrors = (tools: ReadonlySet<ToolName>): readonly string[] => [
  "## Errors",
  "A failed call says `code: message`. Decide by the code:",
  advice
    .filter(([, givers]) => givers.some((tool) => tools.has(tool)))
    .map(([code, , text]) => `- \`${code}\`: ${text}`)
    .join("\n"),
]
