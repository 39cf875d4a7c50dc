/**
 * A tool call from the moment its arguments were accepted. What it does is decided by whoever answers `invoke`; here is
 * only when it may begin and how it ends.
 */
import type { Json } from "@computerd/protocol/content"
import { type Failure, failure } from "@computerd/protocol/errors"
import type { AdmissionAnswer } from "@computerd/protocol/link"
import type { Scope } from "@computerd/protocol/scope"
import { encode, rpcResult, toolFailure, toolText } from "./answers.ts"
import type { Outcome } from "./dispatch.ts"
import type { Admission } from "./gate.ts"
import type { Clock, End, Limits, OpenRequest } from "./open_requests.ts"
import type { HttpRefusalClass } from "./refusals.ts"
import { jsonResponse, unreadResponse } from "./responses.ts"

export interface ToolCall {
  readonly scope: Scope
  readonly tool: string
  readonly arguments: { readonly [name: string]: Json }
  /** Aborts when nobody waits for the answer any more. A mutation that was admitted goes on. */
  readonly signal: AbortSignal
}

/** Counts the refusal and makes its response. */
export type Refuse = (refusal: HttpRefusalClass, rest: "read" | "unread") => Response

export interface CallDeps {
  readonly clock: Clock
  readonly limits: Limits
  readonly admission: () => Admission
  readonly invoke: (call: ToolCall) => Promise<AdmissionAnswer>
  readonly fault: (error: unknown) => void
  readonly refuse: Refuse
}

/** A call on its way: what was asked, under which scope, in which request. */
export interface PendingCall {
  readonly asked: Extract<Outcome, { readonly kind: "call" }>
  readonly scope: Scope
  readonly open: OpenRequest
  /** Of the client's connection. */
  readonly dropped: AbortSignal
}

const unknownOutcome = "its outcome is unknown; repeat it with the same idempotencyKey"

const endings = {
  tool_deadline: `the call took too long and ${unknownOutcome}`,
  exited: `this Session process has ended and ${unknownOutcome} from its next process`,
  shutting_down: `this Session process is ending and ${unknownOutcome} from its next process`,
} as const satisfies Readonly<Partial<Record<End, string>>>

const refused = ({ asked }: PendingCall, error: Failure): Response =>
  jsonResponse(rpcResult(asked.id, toolFailure(asked.era, error)))

const ended = (deps: CallDeps, call: PendingCall, end: End): Response => {
  switch (end) {
    case "request_deadline":
      return deps.refuse("request_timeout", "read")
    case "dropped":
      return unreadResponse()
    default:
      return refused(call, failure("admission_unavailable", endings[end]))
  }
}

const answered = ({ id, era }: PendingCall["asked"], answer: AdmissionAnswer): Response =>
  jsonResponse(
    rpcResult(id, answer.ok ? toolText(era, encode(answer.value)) : toolFailure(era, answer.error)),
  )

/** M1: authority is judged again now that the body is here; what was renewed meanwhile is not inherited silently. */
const refusalNow = (call: PendingCall, deps: CallDeps): Failure | undefined => {
  if (deps.admission() !== "open")
    return failure("authority_changed", "the Session was held or lost its Computer while the call came in")
  const ageMs = deps.clock.monotonicMs() - call.open.startedMs
  return ageMs < deps.limits.toolCallMs
    ? undefined
    : failure("admission_unavailable", "the call came in too slowly; nothing was done")
}

/** A receiver that throws before it has a promise is one that rejects. */
const invoked = (deps: CallDeps, call: ToolCall): Promise<AdmissionAnswer> => {
  try {
    return deps.invoke(call)
  } catch (error) {
    return Promise.reject(error)
  }
}

/** Begins the call, or refuses it; the answer goes to the open request when it comes. */
export const startCall = (deps: CallDeps, call: PendingCall): void => {
  const { asked, open, scope, dropped } = call
  const refusal = refusalNow(call, deps)
  if (refusal !== undefined) return void open.answer(refused(call, refusal))
  const signal = open.calling((end) => ended(deps, call, end))
  if (signal === undefined) return
  if (dropped.aborted) return void open.end("dropped")
  // Nobody else sees this signal, and the property costs half of what a listener does.
  dropped.onabort = () => open.end("dropped")
  invoked(deps, { scope, tool: asked.tool.name, arguments: asked.arguments, signal }).then(
    (answer) => open.answer(answered(asked, answer)),
    (error: unknown) => {
      deps.fault(error)
      open.answer(
        refused(call, failure("internal", `the call failed in the supervisor and ${unknownOutcome}`)),
      )
    },
  )
}
