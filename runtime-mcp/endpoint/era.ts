/**
 * Which revision a message speaks, and whether its headers agree with its body.
 *
 * E1 a message that claims a revision in its envelope is of the new era; so is one that only has the new header, except
 *    `initialize`, which always opens the old era
 * E2 a new-era message is judged by envelope, then header against body, then revision, then the method headers
 */
import { isObject, type Params } from "./message.ts"
import type { RpcRefusalClass } from "./refusals.ts"
import { isOldVersion, newVersion } from "./versions.ts"

export type Era = "old" | "new"

export interface Headers {
  readonly get: (name: string) => string | null
}

export type EraAnswer =
  | { readonly era: Era; readonly refusal?: undefined }
  | { readonly era: Era; readonly refusal: RpcRefusalClass; readonly requested?: string }

interface Meta {
  readonly "io.modelcontextprotocol/protocolVersion"?: unknown
  readonly "io.modelcontextprotocol/clientCapabilities"?: unknown
}

const old: EraAnswer = { era: "old" }
const current: EraAnswer = { era: "new" }
const noMeta: Meta = {}

const encodedName = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/

/** Names that a header cannot carry come in base64. */
const headerName = (value: string | null): string | null => {
  const encoded = value === null ? null : encodedName.exec(value)?.[1]
  return encoded === null || encoded === undefined ? value : Buffer.from(encoded, "base64").toString("utf8")
}

interface Spoken {
  readonly method: string
  readonly params: Params
}

const newEra = (message: Spoken, meta: Meta, headers: Headers): EraAnswer => {
  const claimed = meta["io.modelcontextprotocol/protocolVersion"]
  if (typeof claimed !== "string" || !isObject(meta["io.modelcontextprotocol/clientCapabilities"]))
    return { era: "new", refusal: "missing_envelope" }
  if (headers.get("mcp-protocol-version") !== claimed) return { era: "new", refusal: "header_mismatch" }
  if (claimed !== newVersion) return { era: "new", refusal: "unsupported_new_version", requested: claimed }
  if (headers.get("mcp-method") !== message.method) return { era: "new", refusal: "header_mismatch" }
  if (message.method === "tools/call" && headerName(headers.get("mcp-name")) !== message.params.name)
    return { era: "new", refusal: "header_mismatch" }
  return current
}

export const judgeEra = (message: Spoken, headers: Headers): EraAnswer => {
  const { _meta: given } = message.params
  const meta: Meta = isObject(given) ? given : noMeta
  const claims = meta["io.modelcontextprotocol/protocolVersion"] !== undefined
  if (claims) return newEra(message, meta, headers)
  if (message.method === "initialize") return old
  const version = headers.get("mcp-protocol-version")
  if (version === null || isOldVersion(version)) return old
  return version === newVersion
    ? newEra(message, meta, headers)
    : { era: "old", refusal: "unsupported_version" }
}
