/** One Session as what can be done with it. Making a handle asks nothing of the server. */
import { sessionRoutes } from "@computerd/protocol/api/sessions"
import { type ContentInput, contentOf } from "./content.ts"
import { createEvents, type Events } from "./events/events.ts"
import type { MutationOptions } from "./options.ts"
import { createQuestions, type Questions } from "./questions.ts"
import type { Transport } from "./transport/transport.ts"
import {
  type AcceptedControl,
  type AcceptedMessage,
  createTurnHandle,
  createTurns,
  type TurnHandle,
  type Turns,
} from "./turns.ts"

/** The status of the Session after the call. */
export interface EndingSession {
  readonly sessionId: string
  readonly status: "closing" | "closed"
}

export interface SessionHandle {
  readonly id: string
  /** Another Turn, which runs after those before it. */
  readonly enqueue: (input: ContentInput, options?: MutationOptions) => Promise<TurnHandle>
  /** A message to a running Turn. One that takes no more refuses it with `message_closed`. */
  readonly send: (
    turnId: string,
    message: ContentInput,
    options?: MutationOptions,
  ) => Promise<AcceptedMessage>
  /** Stops what runs in the tree and holds it until `resume` releases the `holdId` of the answer. */
  readonly interrupt: (options?: MutationOptions) => Promise<AcceptedControl>
  /** Releases exactly one hold of this Session. */
  readonly resume: (holdId: string, options?: MutationOptions) => Promise<AcceptedControl>
  /** Ends the tree in order: what can run is finished, nothing new is taken. */
  readonly close: (options?: MutationOptions) => Promise<EndingSession>
  /** Ends the tree at once: queued Turns are cancelled and running ones stopped. */
  readonly cancel: (options?: MutationOptions) => Promise<EndingSession>
  readonly turn: (turnId: string) => TurnHandle
  readonly turns: Turns
  readonly events: Events
  readonly questions: Questions
}

export const createSessionHandle = (transport: Transport, sessionId: string): SessionHandle => {
  const params = { sessionId }
  const fresh = transport.ports.newKey
  return {
    id: sessionId,
    enqueue: async (input, { idempotencyKey = fresh(), ...settings } = {}) => {
      const body = { input: contentOf(input), idempotencyKey }
      const { enqueue: route } = sessionRoutes
      const { turnId } = await transport.call({ route, params, query: {}, body, idempotencyKey }, settings)
      return createTurnHandle(transport, { id: turnId, sessionId })
    },
    send: (id, message, options) => createTurnHandle(transport, { id, sessionId }).send(message, options),
    interrupt: ({ idempotencyKey = fresh(), ...settings } = {}) => {
      const { interrupt: route } = sessionRoutes
      return transport.call({ route, params, query: {}, body: { idempotencyKey }, idempotencyKey }, settings)
    },
    resume: (holdId, { idempotencyKey = fresh(), ...settings } = {}) => {
      const body = { holdId, idempotencyKey }
      return transport.call(
        { route: sessionRoutes.resume, params, query: {}, body, idempotencyKey },
        settings,
      )
    },
    close: ({ idempotencyKey = fresh(), ...settings } = {}) =>
      transport.call(
        { route: sessionRoutes.close, params, query: {}, body: { idempotencyKey }, idempotencyKey },
        settings,
      ),
    cancel: ({ idempotencyKey = fresh(), ...settings } = {}) =>
      transport.call(
        { route: sessionRoutes.cancel, params, query: {}, body: { idempotencyKey }, idempotencyKey },
        settings,
      ),
    turn: (id) => createTurnHandle(transport, { id, sessionId }),
    turns: createTurns(transport, sessionId),
    events: createEvents(transport, sessionId),
    questions: createQuestions(transport, sessionId),
  }
}
