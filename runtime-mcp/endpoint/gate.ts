/**
 * The order in which a request earns its way to the body. Pure: it asks the questions in a fixed order and answers with
 * the first refusal. A step that costs more, or tells more, comes after the ones that can end the request.
 *
 * G1 a foreign Host or Origin learns nothing, whatever else it sends
 * G2 an unknown path is 404 without a word about tokens, so that no client starts a sign-in there
 * G3 no token, no word about holds, load or the body
 * G4 the body is read only for a request that could be served now
 *
 * Duplicate headers arrive joined by commas; every comparison is of the whole value, so a joined one matches nothing.
 */
import { mcpRequestBodyMaxBytes } from "@computerd/protocol/limits"
import type { HttpRefusalClass } from "./refusals.ts"

export type Admission = "open" | "held" | "shutting_down" | "no_lease"

export interface GateRequest {
  readonly method: string
  /** Absolute, as the server built it; looked at only when Host is our own. */
  readonly url: string
  readonly headers: { readonly get: (name: string) => string | null }
}

export interface GateHouse<Descriptor> {
  readonly names: OwnNames
  readonly descriptor: (authorization: string) => Descriptor | undefined
  readonly admission: () => Admission
  readonly full: () => boolean
}

/** The two names of this listener; nothing else is accepted as Host or Origin. */
export interface OwnNames {
  readonly hosts: ReadonlyMap<string, { readonly url: string; readonly origin: string }>
  readonly origins: ReadonlySet<string>
}

export const mcpPath = "/mcp"

export const ownNames = (port: number): OwnNames => {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`].map(
    (host) => [host, { url: `http://${host}${mcpPath}`, origin: `http://${host}` }] as const,
  )
  return { hosts: new Map(hosts), origins: new Set(hosts.map(([, { origin }]) => origin)) }
}

export type GateAnswer<Descriptor> =
  | { readonly pass: true; readonly descriptor: Descriptor; readonly authorization: string }
  | { readonly pass: false; readonly refusal: HttpRefusalClass }

const refuse = (refusal: HttpRefusalClass): { readonly pass: false; readonly refusal: HttpRefusalClass } => ({
  pass: false,
  refusal,
})

const addressRefusal = (request: GateRequest, names: OwnNames): HttpRefusalClass | undefined => {
  const own = names.hosts.get(request.headers.get("host") ?? "")
  if (own === undefined) return "foreign_host"
  const origin = request.headers.get("origin")
  if (origin !== null && !names.origins.has(origin)) return "foreign_origin"
  if (request.url !== own.url) return "unknown_path"
  return request.method === "POST" ? undefined : "method_not_allowed"
}

const usualAccept = "application/json, text/event-stream"
const jsonRange = /^\s*(?:application\/json|application\/\*|\*\/\*)\s*(?:;|$)/i
/** A weight of nothing is a refusal. */
const refusedRange = /;\s*q\s*=\s*0(?:\.0*)?\s*(?:;|$)/i

const accepts = (accept: string | null): boolean =>
  accept === null ||
  accept === usualAccept ||
  accept.split(",").some((range) => jsonRange.test(range) && !refusedRange.test(range))

const jsonType = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?;?\s*$/i

const isJson = (type: string | null): boolean =>
  type !== null && (type === "application/json" || jsonType.test(type.trim()))

/** What the headers say about the body. */
const bodyRefusal = ({ headers }: GateRequest): HttpRefusalClass | undefined => {
  if (!isJson(headers.get("content-type"))) return "unsupported_media_type"
  const encoding = headers.get("content-encoding")
  if (encoding !== null && encoding.toLowerCase() !== "identity") return "unsupported_encoding"
  if (!accepts(headers.get("accept"))) return "not_acceptable"
  return Number(headers.get("content-length")) > mcpRequestBodyMaxBytes ? "body_too_large" : undefined
}

export const gate = <Descriptor>(
  request: GateRequest,
  house: GateHouse<Descriptor>,
): GateAnswer<Descriptor> => {
  const address = addressRefusal(request, house.names)
  if (address !== undefined) return refuse(address)
  const authorization = request.headers.get("authorization")
  const descriptor = authorization === null ? undefined : house.descriptor(authorization)
  if (authorization === null || descriptor === undefined) return refuse("unauthorized")
  const admission = house.admission()
  if (admission !== "open") return refuse(admission)
  if (house.full()) return refuse("too_many_requests")
  const body = bodyRefusal(request)
  return body === undefined ? { pass: true, descriptor, authorization } : refuse(body)
}
