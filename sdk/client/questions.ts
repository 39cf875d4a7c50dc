/** `session.questions`: what running Turns ask people. */
import { questionRoutes } from "@computerd/protocol/api/questions"
import type { Content } from "../turn.ts"
import { type ContentInput, contentOf } from "./content.ts"
import type { CallOptions, MutationOptions } from "./options.ts"
import type { Transport } from "./transport/transport.ts"

export interface Question {
  readonly id: string
  readonly sessionId: string
  readonly turnId: string
  readonly question: Content
  readonly createdAt: string
}

export interface AnsweredQuestion {
  readonly questionId: string
  readonly status: "answered"
}

export interface Questions {
  /** The open ones, oldest first. */
  readonly list: (options?: CallOptions) => Promise<{ readonly questions: readonly Question[] }>
  /** The Turn that asked goes on with the answer. */
  readonly answer: (
    questionId: string,
    answer: ContentInput,
    options?: MutationOptions,
  ) => Promise<AnsweredQuestion>
}

export const createQuestions = (transport: Transport, sessionId: string): Questions => ({
  list: (options = {}) =>
    transport.call(
      { route: questionRoutes.list, params: { sessionId }, query: {}, body: undefined },
      options,
    ),
  answer: async (questionId, answer, { idempotencyKey = transport.ports.newKey(), ...settings } = {}) => {
    const { answer: route } = questionRoutes
    const body = { answer: contentOf(answer), idempotencyKey }
    return transport.call(
      { route, params: { sessionId, questionId }, query: {}, body, idempotencyKey },
      settings,
    )
  },
})
