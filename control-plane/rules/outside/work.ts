/** Work and words for Sessions from outside. */
import type { Content } from "@computerd/protocol/content"
import { fail, ok } from "@computerd/protocol/errors"
import type { QuestionId, SessionId, TurnId } from "@computerd/protocol/ids"
import { addTurn } from "../enqueue.ts"
import type { Question, Session } from "../entities.ts"
import { deliver } from "../message.ts"
import type { TurnTarget } from "../reach.ts"
import { hasCommandRoom } from "../room.ts"
import { missing, outsideMutation } from "./call.ts"
import { sessionIn, turnIn } from "./reach.ts"

interface Keyed {
  readonly sessionId: SessionId
  readonly idempotencyKey: string
}

export interface EnqueueFromOutside extends Keyed {
  readonly input: Content
}

export interface SendFromOutside extends Keyed {
  readonly turnId: TurnId
  readonly message: Content
}

export interface AnswerFromOutside extends Keyed {
  readonly questionId: QuestionId
  readonly answer: Content
}

export const enqueueFromOutside = outsideMutation<EnqueueFromOutside, Session>("enqueueTurn", {
  resolve: (call) => sessionIn(call, call.arguments.sessionId),
  effect: ({ draft, arguments: asked, given }, target) =>
    target.status === "open"
      ? ok(addTurn(draft, { target, requester: undefined, input: asked.input }, given))
      : fail("invalid_arguments", `the Session is ${target.status} and takes no further Turn`, "sessionId"),
})

export const sendFromOutside = outsideMutation<SendFromOutside, TurnTarget>("sendTurn", {
  resolve: (call) => turnIn(call, call.arguments),
  effect: ({ draft, arguments: asked, given }, target) =>
    deliver(draft, { target, content: asked.message }, given),
})

/** A question that is not open is found by nobody; a repeated answer finds its receipt first. */
export const answerFromOutside = outsideMutation<AnswerFromOutside, Session>("answerQuestion", {
  resolve: (call) => sessionIn(call, call.arguments.sessionId),
  effect: ({ draft, arguments: asked }, session) => {
    const question = draft.openQuestions(session.id).find((one: Question) => one.id === asked.questionId)
    if (question === undefined) return missing("open question of this Session")
    const room = hasCommandRoom(draft.computer(session.computerId))
    if (!room.ok) return room
    draft.putQuestion({ ...question, status: "answered" })
    draft.sendAnswer(session.computerId, question, asked.answer)
    return ok({ questionId: question.id, status: "answered" })
  },
})
