/**
 * From a message to its answer, or to the tool call that has to be made. Pure: it knows no transport, no clock and no
 * receiver. A tool's failure is a result; a JSON-RPC error is only for what is not in the catalogue or not the protocol.
 */
import type { Json } from "@computerd/protocol/content"
import { failure } from "@computerd/protocol/errors"
import { runtimeSkillName } from "@computerd/protocol/tools"
import { checkArguments } from "../tools/arguments.ts"
import { findTool, tools } from "../tools/catalogue.ts"
import type { Tool } from "../tools/tool.ts"
import { rpcError, rpcResult, toolFailure } from "./answers.ts"
import { type Era, type Headers, judgeEra } from "./era.ts"
import { isObject, type Message, type Params, type RequestId, readMessage } from "./message.ts"
import type { Prepared } from "./prepared.ts"
import { type RpcRefusalClass, refusals } from "./refusals.ts"
import { negotiated } from "./versions.ts"

type Arguments = Readonly<Record<string, Json>>

export type Outcome =
  | {
      readonly kind: "answer"
      readonly status: number
      readonly text: string
      readonly refused?: RpcRefusalClass
    }
  /** A notification or a response: taken, with nothing to say. */
  | { readonly kind: "accepted" }
  | {
      readonly kind: "call"
      readonly era: Era
      readonly id: RequestId
      readonly tool: Tool
      readonly arguments: Arguments
    }

type Request = Extract<Message, { readonly kind: "request" }>

const answer = (id: RequestId, result: string): Outcome => ({
  kind: "answer",
  status: 200,
  text: rpcResult(id, result),
})

export const refuseMessage = (
  id: RequestId | null,
  refused: RpcRefusalClass,
  requested?: string,
): Outcome => ({
  kind: "answer",
  status: refusals[refused].status,
  text: rpcError(id, refused, requested),
  refused,
})

const isImplementation = (value: unknown): boolean =>
  isObject(value) &&
  "name" in value &&
  "version" in value &&
  typeof value.name === "string" &&
  typeof value.version === "string"

const initialize = ({ id, params }: Request, prepared: Prepared): Outcome => {
  const { protocolVersion, capabilities, clientInfo } = params
  return typeof protocolVersion === "string" && isObject(capabilities) && isImplementation(clientInfo)
    ? answer(id, prepared.initialize(negotiated(protocolVersion)))
    : refuseMessage(id, "invalid_initialize")
}

const readSkill = (
  id: RequestId,
  given: unknown,
  spoken: { readonly era: Era; readonly prepared: Prepared },
): Outcome => {
  const { era, prepared } = spoken
  const checked = checkArguments(tools.skills, given)
  if (!checked.ok) return answer(id, toolFailure(era, checked.error))
  const { name } = checked.value
  if (name === undefined) return answer(id, prepared[era].skillList)
  if (name === runtimeSkillName) return answer(id, prepared[era].skill)
  const unknown = failure("unknown_skill", "no skill has that exact name; skills({}) lists them")
  return answer(id, toolFailure(era, unknown))
}

/** What zod has accepted from parsed JSON is JSON. */
const isArguments = (value: unknown): value is Arguments => isObject(value)

const call = (
  id: RequestId,
  params: Params,
  spoken: { readonly era: Era; readonly prepared: Prepared },
): Outcome => {
  if (typeof params.name !== "string") return refuseMessage(id, "invalid_call")
  const tool = findTool(params.name)
  if (tool === undefined) return refuseMessage(id, "unknown_tool")
  const given = params.arguments ?? {}
  if (tool.name === "skills") return readSkill(id, given, spoken)
  const checked = checkArguments(tool, given)
  if (!checked.ok) return answer(id, toolFailure(spoken.era, checked.error))
  return isArguments(checked.value)
    ? { kind: "call", era: spoken.era, id, tool, arguments: checked.value }
    : refuseMessage(id, "invalid_call")
}

const listTools = ({ id, params }: Request, list: string): Outcome =>
  params.cursor === undefined ? answer(id, list) : refuseMessage(id, "unknown_cursor")

const oldMethod = (request: Request, prepared: Prepared): Outcome => {
  switch (request.method) {
    case "tools/call":
      return call(request.id, request.params, { era: "old", prepared })
    case "tools/list":
      return listTools(request, prepared.old.tools)
    case "initialize":
      return initialize(request, prepared)
    case "ping":
      return answer(request.id, "{}")
    default:
      return refuseMessage(request.id, "unknown_method")
  }
}

const newMethod = (request: Request, prepared: Prepared): Outcome => {
  switch (request.method) {
    case "tools/call":
      return call(request.id, request.params, { era: "new", prepared })
    case "tools/list":
      return listTools(request, prepared.new.tools)
    case "server/discover":
      return answer(request.id, prepared.discovery)
    default:
      return refuseMessage(request.id, "unknown_new_method")
  }
}

export const dispatch = (text: string, headers: Headers, prepared: Prepared): Outcome => {
  const message = readMessage(text)
  if (message.kind === "refused") return refuseMessage(message.id, message.refusal)
  if (message.kind === "response") return { kind: "accepted" }
  const judged = judgeEra(message, headers)
  if (judged.refusal !== undefined)
    return refuseMessage(message.kind === "request" ? message.id : null, judged.refusal, judged.requested)
  if (message.kind === "notification") return { kind: "accepted" }
  return judged.era === "new" ? newMethod(message, prepared) : oldMethod(message, prepared)
}
