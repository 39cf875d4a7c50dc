/**
 * Down frames of the Session channel, decoded without zod (`guard.ts` says why). A test holds these predicates to the
 * schemas of `protocol/channel.ts`: what the schema accepts is accepted here, and a wrong shape is refused by both.
 */
import type {
  ChannelDown,
  ChannelDownFrame,
  McpConnection,
  SessionBootstrap,
  SessionContextData,
  TurnData,
} from "@computerd/protocol/channel"
import type { TextPart, TurnSource } from "@computerd/protocol/content"
import type { Decoded } from "@computerd/protocol/decode"
import type { ErrorCode, Failure } from "@computerd/protocol/errors"
import type {
  ComputerId,
  DeploymentId,
  Generation,
  MessageId,
  QuestionId,
  RequestId,
  SessionId,
  TurnId,
} from "@computerd/protocol/ids"
import { frameMaxBytes } from "@computerd/protocol/limits"
import {
  either,
  type Guard,
  idOf,
  integerFrom,
  isRecord,
  isText,
  listOf,
  literal,
  shape,
  tagged,
} from "./guard.ts"

export const isRequestId = idOf<RequestId>("req")
const isSessionId = idOf<SessionId>("ses")
const isTurnId = idOf<TurnId>("trn")
const isMessageId = idOf<MessageId>("msg")

/** Codes are checked for their form only: a newer supervisor may know more of them. */
const isErrorCode = (value: unknown): value is ErrorCode => isText(value) && /^[a-z_]+$/.test(value)
const isFailure = shape<Failure>({ code: isErrorCode, message: isText, field: isText }, "field")
const isRefusal = shape<{ ok: false; error: Failure }>({ ok: literal(false), error: isFailure })
const isContent = listOf(shape<TextPart>({ type: literal("text"), text: isText }))

const isGeneration = (value: unknown): value is Generation => integerFrom(1)(value)

export const isBootstrap: Guard<SessionBootstrap> = shape<SessionBootstrap>({
  channelUrl: isText,
  secret: isText,
  sessionId: isSessionId,
  generation: isGeneration,
  bundlePath: isText,
  agent: isText,
})

const isContext = shape<SessionContextData>({
  session: shape<SessionContextData["session"]>(
    { id: isSessionId, key: isText, parent: isSessionId },
    "key",
    "parent",
  ),
  computer: shape<SessionContextData["computer"]>({ id: idOf<ComputerId>("cmp") }),
  deployment: shape<SessionContextData["deployment"]>({ id: idOf<DeploymentId>("dep") }),
  recovery: shape<SessionContextData["recovery"]>(
    { kind: literal("initial", "reconstructed"), reason: isText },
    "reason",
  ),
})

const isTurn = shape<TurnData>({
  id: isTurnId,
  sequence: integerFrom(1),
  createdAt: isText,
  input: isContent,
  source: tagged<"kind", TurnSource>("kind", {
    client: shape<{ kind: "client" }>({ kind: literal("client") }),
    session: shape<Extract<TurnSource, { kind: "session" }>>(
      { kind: literal("session"), requesterSessionId: isText, originTurnId: isText },
      "originTurnId",
    ),
  }),
})

type Down<Type extends ChannelDown["type"]> = Extract<ChannelDown, { type: Type }>

const isDown: Guard<ChannelDown> = tagged<"type", ChannelDown>("type", {
  initialize: shape<Down<"initialize">>({ type: literal("initialize"), context: isContext }),
  turn: shape<Down<"turn">>({ type: literal("turn"), turn: isTurn }),
  cancel_turn: shape<Down<"cancel_turn">>({
    type: literal("cancel_turn"),
    turnId: isTurnId,
    status: literal("interrupted", "cancelled"),
  }),
  message: shape<Down<"message">>({
    type: literal("message"),
    turnId: isTurnId,
    messageId: isMessageId,
    content: isContent,
  }),
  mcp_connection_result: shape<Down<"mcp_connection_result">>({
    type: literal("mcp_connection_result"),
    requestId: isRequestId,
    result: either(
      shape<{ ok: true; value: McpConnection }>({
        ok: literal(true),
        value: shape<McpConnection>({
          url: isText,
          headers: shape<McpConnection["headers"]>({ Authorization: isText }),
        }),
      }),
      isRefusal,
    ),
  }),
  ask_result: shape<Down<"ask_result">>({
    type: literal("ask_result"),
    requestId: isRequestId,
    result: either(
      shape<Extract<Down<"ask_result">["result"], { ok: true }>>({
        ok: literal(true),
        value: shape<{ questionId: QuestionId; answer: TextPart[] }>({
          questionId: idOf<QuestionId>("qst"),
          answer: isContent,
        }),
      }),
      isRefusal,
    ),
  }),
  shutdown: shape<Down<"shutdown">>({ type: literal("shutdown"), graceMs: integerFrom(0) }),
})

type Frame<Kind extends ChannelDownFrame["kind"]> = Extract<ChannelDownFrame, { kind: Kind }>

const isFrame: Guard<ChannelDownFrame> = tagged<"kind", ChannelDownFrame>("kind", {
  welcome: shape<Frame<"welcome">>({
    kind: literal("welcome"),
    protocol: integerFrom(Number.MIN_SAFE_INTEGER),
    received: integerFrom(0),
  }),
  reject: shape<Frame<"reject">>({ kind: literal("reject"), error: isFailure }),
  frame: shape<Frame<"frame">>({
    kind: literal("frame"),
    seq: integerFrom(1),
    ack: integerFrom(0),
    body: isDown,
  }),
  ack: shape<Frame<"ack">>({ kind: literal("ack"), ack: integerFrom(0) }),
  invalid: shape<Frame<"invalid">>(
    { kind: literal("invalid"), seq: integerFrom(Number.MIN_SAFE_INTEGER), message: isText },
    "seq",
  ),
  ping: shape<Frame<"ping">>({ kind: literal("ping") }),
  pong: shape<Frame<"pong">>({ kind: literal("pong") }),
})

const refused = (message: string, value?: unknown): Decoded<never> =>
  isRecord(value) && typeof value["seq"] === "number"
    ? { kind: "invalid", message, seq: value["seq"] }
    : { kind: "invalid", message }

/** Names the innermost tag that could be read, never a value: a frame may carry a secret. */
const whatIsWrong = (value: unknown): string => {
  if (!isRecord(value)) return "frame is not an object"
  const body = value["body"]
  const type = isRecord(body) ? body["type"] : undefined
  if (isText(type)) return `frame with body type ${type.slice(0, 64)} has the wrong shape`
  return isText(value["kind"])
    ? `frame of kind ${value["kind"].slice(0, 64)} has the wrong shape`
    : "frame has no kind"
}

export const decodeDown = (data: unknown): Decoded<ChannelDownFrame> => {
  if (typeof data !== "string") return refused("frame is binary; text is expected")
  if (data.length > frameMaxBytes) return refused(`frame is larger than ${frameMaxBytes} bytes`)
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    return refused("frame is not JSON")
  }
  return isFrame(value) ? { kind: "ok", frame: value } : refused(whatIsWrong(value), value)
}
