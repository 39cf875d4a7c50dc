/** Questions that a running Turn asks, and their answers. */
import { z } from "zod"
import { Content, Timestamp } from "../content.ts"
import { QuestionId, SessionId, TurnId } from "../ids.ts"
import { IdempotencyKey, noQuery } from "./fields.ts"
import { route } from "./route.ts"

export const Question = z.object({
  id: QuestionId,
  sessionId: SessionId,
  turnId: TurnId,
  question: Content,
  createdAt: Timestamp,
})
export type Question = Readonly<z.infer<typeof Question>>

export const QuestionList = z.object({ questions: z.array(Question) })
export type QuestionList = Readonly<z.infer<typeof QuestionList>>

export const AnswerRequest = z.strictObject({ answer: Content, idempotencyKey: IdempotencyKey })
export type AnswerRequest = Readonly<z.infer<typeof AnswerRequest>>

export const AnsweredQuestion = z.object({ questionId: QuestionId, status: z.literal("answered") })
export type AnsweredQuestion = Readonly<z.infer<typeof AnsweredQuestion>>

export const questionRoutes = {
  list: route({
    name: "listQuestions",
    method: "GET",
    path: "/v1/sessions/:sessionId/questions",
    permission: "sessions:read",
    description:
      "Lists the open questions of a Session, oldest first. A Turn that has asked waits for its answer.",
    params: z.strictObject({ sessionId: SessionId }),
    query: noQuery,
    body: { kind: "none" },
    answer: { kind: "json", status: 200, schema: QuestionList },
  }),
  answer: route({
    name: "answerQuestion",
    method: "POST",
    path: "/v1/sessions/:sessionId/questions/:questionId/answer",
    permission: "sessions:write",
    description: "Answers an open question; the Turn that asked goes on with it.",
    params: z.strictObject({ sessionId: SessionId, questionId: QuestionId }),
    query: noQuery,
    body: { kind: "json", schema: AnswerRequest, content: "answer" },
    answer: { kind: "json", status: 200, schema: AnsweredQuestion },
  }),
}
