/**
 * What a program asks of its supervisor: connections, and questions to people. Once `close` was called nothing more is
 * asked and nobody is left waiting (H2 of `host.ts`).
 */
import type { ChannelDown, ChannelUp, McpConnection } from "@computerd/protocol/channel"
import type { TextPart } from "@computerd/protocol/content"
import type { Failure, Result } from "@computerd/protocol/errors"
import type { TurnId } from "@computerd/protocol/ids"
import { contentMaxBytes, textPartsMax } from "@computerd/protocol/limits"
import { HelmrError } from "@helmr/sdk/error"
import type { Ports } from "../ports.ts"
import { checkContent } from "../turn/content.ts"
import { failure } from "../turn/failure.ts"
import type { AskedPolicy } from "./context.ts"
import { createRequests } from "./requests.ts"

type Answered<Type extends ChannelDown["type"]> = Extract<ChannelDown, { readonly type: Type }>

export interface Asking {
  readonly connect: (policy: AskedPolicy) => Promise<McpConnection>
  readonly ask: (turnId: TurnId, question: unknown) => Promise<readonly TextPart[]>
  /** The Turn takes no answers any more. */
  readonly unask: (turnId: TurnId, why: Failure) => void
  readonly connected: (frame: Answered<"mcp_connection_result">) => void
  readonly answered: (frame: Answered<"ask_result">) => void
  readonly close: (why: Failure) => void
}

const questionLimits = {
  maxParts: textPartsMax,
  maxBytes: contentMaxBytes,
  excess: "content_limit_exceeded",
} as const

const childFailure = failure(
  "root_session_required",
  "A child Session asks nobody; report the need to its owner, in the response or the result.",
)

export const createAsking = (deps: {
  readonly ports: Ports
  readonly send: (body: ChannelUp) => void
  /** Known once the Session's context has come. */
  readonly isChild: () => boolean
}): Asking => {
  const connections = createRequests<McpConnection, undefined>(deps.ports.newRequestId)
  const questions = createRequests<readonly TextPart[], TurnId>(deps.ports.newRequestId)
  let closed: Failure | undefined

  const open = (): void => {
    if (closed !== undefined) throw new HelmrError(closed)
  }

  return {
    connect: async (policy) => {
      open()
      return await connections.ask(undefined, (requestId) =>
        deps.send(
          policy.given
            ? { type: "mcp_connection", requestId, policy: policy.value }
            : { type: "mcp_connection", requestId },
        ),
      )
    },
    ask: async (turnId, question) => {
      open()
      if (deps.isChild()) throw new HelmrError(childFailure)
      const content = valueOrThrow(checkContent("ask", question, questionLimits))
      return await questions.ask(turnId, (requestId) =>
        deps.send({ type: "ask", requestId, turnId, question: content }),
      )
    },
    unask: (turnId, why) => questions.abandon(why, (owner) => owner === turnId),
    connected: ({ requestId, result }) => connections.answer(requestId, result),
    answered: ({ requestId, result }) =>
      questions.answer(requestId, result.ok ? { ok: true, value: result.value.answer } : result),
    close: (why) => {
      closed = why
      connections.abandon(why, () => true)
      questions.abandon(why, () => true)
    },
  }
}

const valueOrThrow = <Value>(result: Result<Value>): Value => {
  if (result.ok) return result.value
  throw new HelmrError(result.error)
}
