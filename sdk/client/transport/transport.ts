/** Calls of the API with their repetitions: a typed answer, or a typed error. */
import type { AnswerOf, Route } from "@computerd/protocol/api/route"
import { type ErrorCode, failure } from "@computerd/protocol/errors"
import { judge } from "@computerd/protocol/judge"
import { HelmrApiError, HelmrConnectionError } from "../errors.ts"
import { type CallOptions, type Connection, refuseUnknown, timeoutOf } from "../options.ts"
import type { Ports } from "../ports.ts"
import { attempt, type Sending } from "./attempt.ts"
import { type Deadline, deadline, pause } from "./deadline.ts"
import type { Outcome, Refusal } from "./outcome.ts"
import { readBody } from "./read-body.ts"
import { type Call, type Request, requestOf } from "./request.ts"
import { nextDelayMs } from "./retry.ts"

export type JsonRoute = Route & { readonly answer: { readonly kind: "json" } }

export interface CallSettings extends CallOptions {
  /** One attempt takes no longer, so that a connection which fell silent is replaced. */
  readonly attemptMs?: number | undefined
  /** Absent: as the client says. */
  readonly maxRetries?: number | undefined
}

export interface Transport {
  readonly connection: Connection
  readonly ports: Ports
  /** Rejects with a `HelmrError`, or with the reason of the signal that ended it. */
  readonly call: <Given extends JsonRoute>(
    call: Call<Given>,
    options: CallSettings,
  ) => Promise<AnswerOf<Given>>
}

const attemptDefaultMs = 20_000

const judged = <Given extends Route>(route: Given, text: string): Outcome<AnswerOf<Given>> => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { kind: "unexpected", message: "the answer is not JSON" }
  }
  const answer = judge<Given["answer"]["schema"]>(route.answer.schema, value)
  if (answer.ok) return { kind: "answered", value: answer.value }
  const { field, message } = answer.error
  return {
    kind: "unexpected",
    message: `${field === "" ? "the answer" : `"${field}" of the answer`} ${message}`,
  }
}

const reader =
  <Given extends Route>(route: Given) =>
  async (response: Response): Promise<Outcome<AnswerOf<Given>>> => {
    const text = await readBody(response)
    return text === undefined
      ? { kind: "unexpected", message: "the answer is larger than any of this API" }
      : judged(route, text)
  }

const codeOf = (refusal: Refusal): ErrorCode => refusal.code ?? "unsupported_protocol"

export const apiError = (refusal: Refusal, idempotencyKey?: string): HelmrApiError => {
  const { status, retryAfterMs, message, field } = refusal
  return new HelmrApiError(failure(codeOf(refusal), message, field), { status, retryAfterMs, idempotencyKey })
}

const uncertain = ({ idempotencyKey }: Request): string =>
  idempotencyKey === undefined
    ? ""
    : "; it may have been carried out: repeat it with this error's idempotencyKey"

/** Without the query, which may be long. */
const pathOf = ({ target }: Request): string => target.replace(/\?.*/, "")

const errorOf = (
  outcome: Exclude<Outcome<never>, { readonly kind: "answered" }>,
  request: Request,
  { baseUrl }: Connection,
): Error => {
  const what = `${request.method} ${baseUrl}${pathOf(request)}`
  switch (outcome.kind) {
    case "refused":
      return apiError(outcome.refusal, request.idempotencyKey)
    case "unreachable":
      return new HelmrConnectionError(
        "unreachable",
        `${what} got no answer: ${outcome.message}${uncertain(request)}`,
        request.idempotencyKey,
      )
    case "unexpected":
      return new HelmrConnectionError(
        "unexpected_answer",
        `${what}: ${outcome.message}`,
        request.idempotencyKey,
      )
  }
}

/** Thrown when a wait was ended from outside: by time with an error of ours, by the caller with the caller's reason. */
const ended = (limit: Deadline, timeoutMs: number, request: Request): unknown =>
  limit.expired()
    ? new HelmrConnectionError(
        "timeout",
        `${request.method} ${pathOf(request)} got no answer within ${timeoutMs} ms${uncertain(request)}`,
        request.idempotencyKey,
      )
    : limit.signal.reason

export const createTransport = (connection: Connection, ports: Ports): Transport => {
  const once = async <Value>(
    sending: Omit<Sending, "signal">,
    limit: Deadline,
    read: { readonly read: (response: Response) => Promise<Outcome<Value>>; readonly attemptMs: number },
  ): Promise<Outcome<Value>> => {
    const own = deadline(read.attemptMs, [limit.signal], ports)
    try {
      const outcome = await attempt(
        { ...sending, signal: own.signal },
        { connection, fetch: ports.fetch },
        read.read,
      )
      return own.expired() && outcome.kind === "unreachable"
        ? { kind: "unreachable", message: `nothing came within ${read.attemptMs} ms` }
        : outcome
    } finally {
      own.release()
    }
  }

  const call: Transport["call"] = async (asked, options) => {
    if (asked.idempotencyKey !== undefined) refuseUnknown(options)
    const timeoutMs = timeoutOf(options, connection.timeoutMs)
    const limit = deadline(timeoutMs, [options.signal, connection.signal], ports)
    const reading = { read: reader(asked.route), attemptMs: options.attemptMs ?? attemptDefaultMs }
    try {
      for (let number = 1; ; number += 1) {
        const request = requestOf(asked)
        if (limit.signal.aborted) throw ended(limit, timeoutMs, request)
        const outcome = await once({ request, accept: "application/json" }, limit, reading)
        if (outcome.kind === "answered") return outcome.value
        if (limit.signal.aborted) throw ended(limit, timeoutMs, request)
        const delayMs = nextDelayMs({
          outcome,
          attempt: number,
          repeatable: request.repeatable,
          maxRetries: options.maxRetries ?? connection.maxRetries,
          remainingMs: limit.remainingMs(),
          random: ports.random(),
        })
        if (delayMs === undefined) throw errorOf(outcome, request, connection)
        await pause(delayMs, limit.signal, ports)
      }
    } finally {
      limit.release()
    }
  }
  return { connection, ports, call }
}
