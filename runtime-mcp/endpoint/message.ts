/** From the body's text to one JSON-RPC message. Batches are refused: one of 100 would sidestep the limit on open requests. */
import type { RpcRefusalClass } from "./refusals.ts"

export type RequestId = string | number

/** Names of `params._meta` and of its envelope keys are those of the protocol. */
export interface Params {
  readonly name?: unknown
  readonly arguments?: unknown
  readonly cursor?: unknown
  readonly protocolVersion?: unknown
  readonly capabilities?: unknown
  readonly clientInfo?: unknown
  readonly _meta?: unknown
}

export type Message =
  | { readonly kind: "request"; readonly id: RequestId; readonly method: string; readonly params: Params }
  | { readonly kind: "notification"; readonly method: string; readonly params: Params }
  /** An answer to a question that this server never asks. */
  | { readonly kind: "response" }
  | { readonly kind: "refused"; readonly refusal: RpcRefusalClass; readonly id: RequestId | null }

interface Envelope {
  readonly jsonrpc?: unknown
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: unknown
}

export const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** An unsafe integer would come back as another one, and its sender would wait for ever. */
const isId = (id: unknown): id is RequestId => typeof id === "string" || Number.isSafeInteger(id)

const refused = (refusal: RpcRefusalClass, id: unknown = null): Message => ({
  kind: "refused",
  refusal,
  id: isId(id) ? id : null,
})

const parse = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

const readEnvelope = (envelope: Envelope): Message => {
  const { id, method } = envelope
  if (envelope.jsonrpc !== "2.0") return refused("invalid_message", id)
  if (typeof method !== "string") {
    const answers = method === undefined && (isObject(envelope.result) || isObject(envelope.error))
    return answers ? { kind: "response" } : refused("invalid_message", id)
  }
  const params = envelope.params ?? {}
  if (!isObject(params)) return refused("invalid_message", id)
  if (id === undefined) return { kind: "notification", method, params }
  return isId(id) ? { kind: "request", id, method, params } : refused("invalid_id")
}

export const readMessage = (text: string): Message => {
  const parsed = parse(text)
  if (parsed === undefined) return refused("invalid_json")
  if (Array.isArray(parsed.value)) return refused("batch")
  return isObject(parsed.value) ? readEnvelope(parsed.value) : refused("invalid_message")
}
