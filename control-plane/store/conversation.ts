/** What is said to and asked by a running Turn: messages and questions. */
import type { Content } from "@computerd/protocol/content"
import type { MessageId, QuestionId, RequestId, SessionId, TurnId } from "@computerd/protocol/ids"
import type { Message, Question, QuestionAnswer } from "../rules/entities.ts"
import { parseJson, type Sql } from "./sql.ts"

interface MessageRecord {
  readonly id: MessageId
  readonly session_id: SessionId
  readonly turn_id: TurnId
  readonly content: string
  readonly command_seq: number
  readonly created_at: number
}

interface QuestionRecord {
  readonly id: QuestionId
  readonly session_id: SessionId
  readonly turn_id: TurnId
  readonly request_id: RequestId
  readonly status: Question["status"]
  readonly created_at: number
}

interface AnswerRecord extends QuestionRecord {
  readonly answer: string
  readonly answer_seq: number
}

export interface Conversation {
  readonly addMessage: (message: Message) => void
  readonly messagesAfter: (turn: TurnId, received: number) => readonly Message[]
  readonly addQuestion: (question: Question, text: Content) => void
  readonly putQuestion: (question: Question) => void
  readonly openQuestions: (session: SessionId) => readonly Question[]
  readonly putAnswer: (answer: QuestionAnswer) => void
  readonly answersAfter: (turn: TurnId, received: number) => readonly QuestionAnswer[]
  readonly questionText: (question: QuestionId) => Content
}

const messageOf = (record: MessageRecord): Message => ({
  id: record.id,
  sessionId: record.session_id,
  turnId: record.turn_id,
  content: parseJson(record.content),
  commandSeq: record.command_seq,
  createdAt: record.created_at,
})

const questionOf = (record: QuestionRecord): Question => ({
  id: record.id,
  sessionId: record.session_id,
  turnId: record.turn_id,
  requestId: record.request_id,
  status: record.status,
  createdAt: record.created_at,
})

export const conversationOf = (sql: Sql): Conversation => ({
  addMessage: (message) => {
    sql.run(
      `insert into messages (id, session_id, turn_id, content, command_seq, created_at)
       values ($1, $2, $3, $4, $5, $6)`,
      message.id,
      message.sessionId,
      message.turnId,
      JSON.stringify(message.content),
      message.commandSeq,
      message.createdAt,
    )
  },
  messagesAfter: (turn, received) =>
    sql
      .all<MessageRecord>(
        "select * from messages where turn_id = $1 and command_seq > $2 order by command_seq",
        turn,
        received,
      )
      .map(messageOf),
  addQuestion: (question, text) => {
    sql.run(
      `insert into questions (id, session_id, turn_id, request_id, content, status, created_at)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      question.id,
      question.sessionId,
      question.turnId,
      question.requestId,
      JSON.stringify(text),
      question.status,
      question.createdAt,
    )
  },
  putQuestion: (question) => {
    sql.run("update questions set status = $1 where id = $2", question.status, question.id)
  },
  openQuestions: (session) =>
    sql
      .all<QuestionRecord>(
        "select * from questions where session_id = $1 and status = 'open' order by id",
        session,
      )
      .map(questionOf),
  putAnswer: ({ question, content, commandSeq }) => {
    sql.run(
      "update questions set answer = $1, answer_seq = $2 where id = $3",
      JSON.stringify(content),
      commandSeq,
      question.id,
    )
  },
  answersAfter: (turn, received) =>
    sql
      .all<AnswerRecord>(
        "select * from questions where turn_id = $1 and answer_seq > $2 order by answer_seq",
        turn,
        received,
      )
      .map((record) => ({
        question: questionOf(record),
        content: parseJson(record.answer),
        commandSeq: record.answer_seq,
      })),
  questionText: (question) => {
    const row = sql.get<{ readonly content: string }>("select content from questions where id = $1", question)
    return row === undefined ? [] : parseJson(row.content)
  },
})
