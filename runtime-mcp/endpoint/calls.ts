/**
 * A tool call from the moment its arguments were accepted. What it does is decided by whoever answers `invoke`; here is
 * only when it may begin and how it ends.
 */
import type { Json } from "@computerd/protocol/content"
import { type Failure, failure } from "@computerd/protocol/errors"
import type { AdmissionAnswer } from "@computerd/protocol/link"
import type { Scope } from "@computerd/protocol/scope"
import { peek } from "bun"
import { encode, rpcResult, toolFailure, toolText } from "./answers.ts"
import type { Refuse } from "./counts.ts"
import type { Outcome } from "./dispatch.ts"
import type { Admission } from "./gate.ts"
import type { Clock, End, Limits, OpenCall, OpenRequest } from "./open_requests.ts"
import { jsonResponse, unreadResponse } from "./responses.ts"

export interface ToolCall {
  readonly scope: Scope
  readonly tool: string
  readonly arguments: { readonly [name: string]: Json }
  /** Aborts when nobody waits for the answer any more. A mutation that was admitted goes on. */
  readonly signal: AbortSignal
}

export interface CallDeps {
  readonly clock: Clock
  readonly limits: Limits
  readonly admission: () => Admission
  readonly invoke: (call: ToolCall) => Promise<AdmissionAnswer>
  readonly fault: (error: unknown) => void
  readonly refuse: Refuse
}

type Asked = Extract<Outcome, { readonly kind: "call" }>

/** A call on its way: what was asked, under which scope, in which request. */
export interface PendingCall {
  readonly asked: Asked
  readonly scope: Scope
  readonly open: OpenRequest
  /** Of the client's connection. */
  readonly http: { readonly signal: AbortSignal }
}

/** Only a call that may have changed something has a key to be repeated with; the other schemas refuse one. */
const repetition = ({ tool }: Asked): string =>
  tool.mutating
    ? "the outcome is unknown; repeat the same call with the same idempotencyKey"
    : "nothing was changed; repeat the same call"

const endings = {
  tool_deadline: { what: "the call took too long", where: "" },
  exited: { what: "this Session process has ended", where: " from its next process" },
  shutting_down: { what: "this Session process is ending", where: " from its next process" },
} as const satisfies Readonly<Partial<Record<End, { readonly what: string; readonly where: string }>>>

const ended = (asked: Asked, end: keyof typeof endings): Failure => {
  const { what, where } = endings[end]
  return failure("admission_unavailable", `${what}; ${repetition(asked)}${where}`)
}

const refused = ({ id, era }: Asked, error: Failure): Response =>
  jsonResponse(rpcResult(id, toolFailure(era, error)))

const answered = (asked: Asked, answer: AdmissionAnswer): Response =>
  answer.ok
    ? jsonResponse(rpcResult(asked.id, toolText(asked.era, encode(answer.value))))
    : refused(asked, answer.error)

class RunningCall implements ToolCall, OpenCall {
  readonly scope: Scope
  readonly tool: string
  readonly arguments: ToolCall["arguments"]
  readonly #asked: Asked
  readonly #refuse: Refuse
  #ended: End | undefined
  #abort: AbortController | undefined

  constructor({ asked, scope }: PendingCall, refuse: Refuse) {
    this.scope = scope
    this.tool = asked.tool.name
    this.arguments = asked.arguments
    this.#asked = asked
    this.#refuse = refuse
  }

  /** Made when it is asked for: a call that is answered from what is at hand never needs one. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController()
    if (this.#ended !== undefined) this.#abort.abort(this.#ended)
    return this.#abort.signal
  }

  end(end: End): Response {
    this.#ended = end
    this.#abort?.abort(end)
    switch (end) {
      case "request_deadline":
        return this.#refuse("request_timeout", "read")
      case "dropped":
        return unreadResponse()
      default:
        return refused(this.#asked, ended(this.#asked, end))
    }
  }
}

/** M1: authority is judged again now that the body is here; what was renewed meanwhile is not inherited silently. */
const refusalNow = ({ open }: PendingCall, deps: CallDeps): Failure | undefined => {
  if (deps.admission() !== "open")
    return failure("authority_changed", "the Session was held or lost its Computer while the call came in")
  return deps.clock.monotonicMs() - open.startedMs < deps.limits.toolCallMs
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

/** Nobody else sees this signal, and its property costs half of what a listener does. */
const endWhenDropped = (open: OpenRequest, dropped: AbortSignal): void => {
  if (dropped.aborted) open.end("dropped")
  else dropped.onabort = () => open.end("dropped")
}

/** Begins the call, or refuses it; the answer goes to the open request when it comes. */
export const startCall = (deps: CallDeps, pending: PendingCall): void => {
  const { asked, open, http } = pending
  const refusal = refusalNow(pending, deps)
  if (refusal !== undefined) return void open.answer(refused(asked, refusal))
  const call = new RunningCall(pending, deps.refuse)
  if (!open.calling(call)) return
  const answer = invoked(deps, call)
  if (peek.status(answer) === "pending") endWhenDropped(open, http.signal)
  answer.then(
    (value) => open.answer(answered(asked, value)),
    (error: unknown) => {
      deps.fault(error)
      const message = `the call failed in the supervisor; ${repetition(asked)}`
      open.answer(refused(asked, failure("internal", message)))
    },
  )
}
