/** Answers as text, built from parts that were encoded once. Both eras share the parts; the new one frames them. */
import type { Failure } from "@computerd/protocol/errors"
import { runtimeServerName } from "@computerd/protocol/tools"
import type { Implementation } from "@modelcontextprotocol/sdk/types.js"
import type { Era } from "./era.ts"
import type { RequestId } from "./message.ts"
import { type RpcRefusalClass, refusals } from "./refusals.ts"
import { newVersion } from "./versions.ts"

export const serverInfo = {
  name: runtimeServerName,
  title: "Helmr runtime",
  version: "0.1.0",
} as const satisfies Implementation

/** JSON text of a value that JSON can hold. */
export const encode = (value: unknown): string => JSON.stringify(value) ?? "null"

/** What every result of the new era carries beside its own members. */
const newFrame = `"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":${encode(serverInfo)}}`

/** `members` is the inside of an object, not empty. */
export const framed = (era: Era, members: string): string =>
  era === "new" ? `{${newFrame},${members}}` : `{${members}}`

export const toolText = (era: Era, text: string): string =>
  framed(era, `"content":[{"type":"text","text":${encode(text)}}]`)

/** A failed call: a result, so that a model reads it, with the code first. */
export const toolFailure = (era: Era, error: Pick<Failure, "code" | "message">): string =>
  framed(
    era,
    `"content":[{"type":"text","text":${encode(`${error.code}: ${error.message}`)}}],"isError":true`,
  )

const encodeId = (id: RequestId | null): string => (typeof id === "number" ? String(id) : encode(id))

export const rpcResult = (id: RequestId, result: string): string =>
  `{"jsonrpc":"2.0","id":${encodeId(id)},"result":${result}}`

export const rpcError = (id: RequestId | null, refusal: RpcRefusalClass, requested?: string): string => {
  const { code, message, ...rest } = refusals[refusal]
  const data = "data" in rest ? { data: { supported: [newVersion], requested } } : {}
  return `{"jsonrpc":"2.0","id":${encodeId(id)},"error":${encode({ code, message, ...data })}}`
}
