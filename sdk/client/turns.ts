/** Turns of a Session, and the handle of one. */
import { apiWaitMaxMs } from "@computerd/protocol/api/limits"
import { sessionRoutes } from "@computerd/protocol/api/sessions"
import { turnRoutes } from "@computerd/protocol/api/turns"
import type { Content, Json, TurnSource } from "../turn.ts"
import { type ContentInput, contentOf } from "./content.ts"
import { type CallOptions, type MutationOptions, timeoutOf } from "./options.ts"
import { type PageOptions, pageOf } from "./paging.ts"
import type { Transport } from "./transport/transport.ts"

export interface TurnError {
  readonly code: string
  readonly message?: string | undefined
}

/** Of an ended Turn; `payloadExpiredAt` stands where the others were dropped after their time. */
export interface TurnPayload {
  readonly result?: Json | undefined
  readonly response?: Content | undefined
  readonly error?: TurnError | undefined
  readonly payloadExpiredAt?: string | undefined
}

export interface Outcome extends TurnPayload {
  readonly status: "completed" | "failed" | "interrupted" | "cancelled"
}

export interface TurnRecord extends TurnPayload {
  readonly id: string
  readonly sessionId: string
  /** From 1, in the order in which the Session runs them. */
  readonly sequence: number
  readonly status: "queued" | "running" | Outcome["status"]
  readonly source: TurnSource
  /** Why a queued Turn does not run yet, for people. */
  readonly waitingFor: string | null
  readonly createdAt: string
  readonly startedAt: string | null
  readonly settledAt: string | null
}

export interface TurnPage {
  readonly turns: readonly TurnRecord[]
  readonly nextCursor?: string | undefined
}

export type WaitedTurn =
  | { readonly status: "timeout" }
  | { readonly status: "settled"; readonly outcome: Outcome }

export interface AcceptedMessage {
  readonly id: string
  readonly turnId: string
}

/** Says that the control was accepted, not that anything has stopped. */
export interface AcceptedControl {
  readonly id: string
  readonly sessionId: string
  readonly status: "accepted"
  /** What an interrupt placed or a resume released. */
  readonly holdId?: string | undefined
  /** The Turn that was asked to stop. */
  readonly turnId?: string | undefined
}

/** `timeoutMs` is for the whole wait and may be as long as one likes. Default: 60 s. */
export type WaitOptions = CallOptions

export interface TurnHandle {
  readonly id: string
  readonly sessionId: string
  readonly get: (options?: CallOptions) => Promise<TurnRecord>
  /** Waits until the Turn has settled, or as long as `timeoutMs` says; a timeout is an answer and cancels nothing. */
  readonly wait: (options?: WaitOptions) => Promise<WaitedTurn>
  /** A message to the running Turn. One that takes no more refuses it with `message_closed`. */
  readonly send: (message: ContentInput, options?: MutationOptions) => Promise<AcceptedMessage>
  /** Ends this Turn alone, while it runs; leaves no hold. */
  readonly interrupt: (options?: MutationOptions) => Promise<AcceptedControl>
}

export interface TurnName {
  readonly id: string
  readonly sessionId: string
}

/** What an answer may take beyond the time that was asked for. */
const answerMs = 15_000

/**
 * One request waits no longer than the API allows, so a long wait is several; a repeated one asks for the time that is
 * left. Where nothing answers, it fails with its time, or earlier when the client's own time for a call is over.
 */
const wait = async (
  transport: Transport,
  { id: turnId, sessionId }: TurnName,
  options: WaitOptions,
): Promise<WaitedTurn> => {
  const { ports } = transport
  const timeoutMs = timeoutOf(options, apiWaitMaxMs)
  const endsAtMs = ports.now() + timeoutMs
  const askedMs = (): number => Math.max(1, Math.min(apiWaitMaxMs, Math.ceil(endsAtMs - ports.now())))
  const asked = {
    route: turnRoutes.wait,
    params: { sessionId, turnId },
    query: () => ({ timeoutMs: askedMs() }),
    body: undefined,
  }
  for (;;) {
    const attemptMs = askedMs() + answerMs
    const ownMs = askedMs() + transport.connection.timeoutMs
    const leftMs = Math.max(0, endsAtMs - ports.now()) + answerMs
    const waited = await transport.call(asked, {
      signal: options.signal,
      attemptMs,
      maxRetries: Number.POSITIVE_INFINITY,
      timeoutMs: Math.min(ownMs, leftMs),
    })
    if (waited.status === "settled" || ports.now() >= endsAtMs) return waited
  }
}

export const createTurnHandle = (transport: Transport, name: TurnName): TurnHandle => {
  const { id: turnId, sessionId } = name
  const params = { sessionId, turnId }
  return {
    id: turnId,
    sessionId,
    get: (options = {}) =>
      transport.call({ route: turnRoutes.get, params, query: {}, body: undefined }, options),
    wait: (options = {}) => wait(transport, name, options),
    send: async (message, { idempotencyKey = transport.ports.newKey(), ...settings } = {}) => {
      const body = { message: contentOf(message), idempotencyKey }
      return transport.call({ route: sessionRoutes.send, params, query: {}, body, idempotencyKey }, settings)
    },
    interrupt: ({ idempotencyKey = transport.ports.newKey(), ...settings } = {}) => {
      const body = { turnId, idempotencyKey }
      const { interrupt: route } = sessionRoutes
      return transport.call({ route, params: { sessionId }, query: {}, body, idempotencyKey }, settings)
    },
  }
}

export interface Turns {
  readonly get: (turnId: string, options?: CallOptions) => Promise<TurnRecord>
  /** Newest first. */
  readonly list: (options?: PageOptions) => Promise<TurnPage>
}

export const createTurns = (transport: Transport, sessionId: string): Turns => ({
  get: (id, options = {}) => createTurnHandle(transport, { id, sessionId }).get(options),
  list: (options = {}) => {
    const { list: route } = turnRoutes
    return transport.call({ route, params: { sessionId }, query: pageOf(options), body: undefined }, options)
  },
})
