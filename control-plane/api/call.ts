/** One request on its way through: what a route's schemas have made of it, and how its answer becomes a response. */
import type { BodyForm, ParamsOf, QueryOf, Route } from "@computerd/protocol/api/route"
import { contentProblem, contentSizeProblem } from "@computerd/protocol/content"
import { fail, type Result } from "@computerd/protocol/errors"
import { judge } from "@computerd/protocol/judge"
import type { z } from "zod"
import type { KeyHolder } from "../receiver/keys.ts"
import type { Receiver } from "../receiver/receiver.ts"
import { readJson } from "./body.ts"
import type { OpenRequests } from "./open-requests.ts"
import { refusal } from "./refusal.ts"
import type { ApiSettings } from "./settings.ts"

export interface ApiParts {
  readonly receiver: Pick<Receiver, "outside" | "keys" | "onHistory">
  readonly settings: ApiSettings
  readonly open: OpenRequests
}

/** After authentication, before anything of it was judged. */
export interface RawCall {
  readonly holder: KeyHolder
  readonly params: unknown
  readonly query: unknown
  readonly request: Request
  /** Whether the key is still good: asked again when a body has come in. */
  readonly isLive: () => boolean
}

export interface Served {
  readonly route: Route
  readonly answer: (raw: RawCall) => Promise<Response>
}

export interface Call<Given extends Route> {
  readonly holder: KeyHolder
  readonly params: ParamsOf<Given>
  readonly query: QueryOf<Given>
  readonly request: Request
}

type JsonRoute = Route & {
  readonly body: Extract<BodyForm, { readonly kind: "json" }>
}

/** Enough of an unknown field's name to find it. */
const fieldMaxLength = 128

const parsed = <Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  whole: string,
): Result<z.infer<Schema>> => {
  const judged = judge(schema, value)
  if (judged.ok) return judged
  const field = judged.error.field.slice(0, fieldMaxLength)
  return fail("invalid_arguments", `${field || whole} ${judged.error.message}`, field || undefined)
}

const contentOf = (value: unknown, name: string | undefined): unknown =>
  name !== undefined && typeof value === "object" && value !== null
    ? Object.entries(value).find(([field]) => field === name)?.[1]
    : undefined

/** What is wrong with content has codes of its own. */
const parsedBody = <Given extends JsonRoute>(
  { body }: Given,
  value: unknown,
): Result<z.infer<Given["body"]["schema"]>> => {
  const content = contentOf(value, body.content)
  const kind = contentProblem(content)
  if (kind !== undefined) return fail(kind.code, `${body.content}${kind.at} ${kind.message}`, body.content)
  const judged = parsed<Given["body"]["schema"]>(body.schema, value, "the body")
  const size = judged.ok && content !== undefined ? contentSizeProblem(content) : undefined
  return size === undefined ? judged : fail(size.code, `${body.content} ${size.message}`, body.content)
}

const callOf = <Given extends Route>(route: Given, raw: RawCall): Result<Call<Given>> => {
  const params = parsed<Given["params"]>(route.params, raw.params, "the path")
  if (!params.ok) return params
  const query = parsed<Given["query"]>(route.query, raw.query, "the query")
  if (!query.ok) return query
  const { holder, request } = raw
  return { ok: true, value: { holder, params: params.value, query: query.value, request } }
}

export const revoked = fail("unauthorized", "the API key is wrong or was revoked")

type Answered<Given extends Route> = Result<z.infer<Given["answer"]["schema"]>>

const respond = <Given extends Route>({ answer }: Given, result: Answered<Given>): Response =>
  result.ok
    ? Response.json(result.value, { status: answer.kind === "json" ? answer.status : 200 })
    : refusal(result.error)

/** A route without a body that answers JSON. */
export const reading = <Given extends Route>(
  route: Given,
  work: (call: Call<Given>) => Answered<Given> | Promise<Answered<Given>>,
): Served => ({
  route,
  answer: async (raw) => {
    const call = callOf(route, raw)
    return call.ok ? respond(route, await work(call.value)) : refusal(call.error)
  },
})

/** A route with a JSON body. */
export const writing = <Given extends JsonRoute>(
  route: Given,
  settings: ApiSettings,
  work: (call: Call<Given> & { readonly body: z.infer<Given["body"]["schema"]> }) => Promise<Answered<Given>>,
): Served => ({
  route,
  answer: async (raw) => {
    const call = callOf(route, raw)
    if (!call.ok) return refusal(call.error)
    const value = await readJson(raw.request, settings.bodyMaxBytes)
    if (!value.ok) return refusal(value.error)
    const body = parsedBody(route, value.value)
    if (!body.ok) return refusal(body.error)
    if (!raw.isLive()) return refusal(revoked.error)
    return respond(route, await work({ ...call.value, body: body.value }))
  },
})

/** A route that makes its response by itself. */
export const special = <Given extends Route>(
  route: Given,
  work: (call: Call<Given>, raw: RawCall) => Promise<Response>,
): Served => ({
  route,
  answer: async (raw) => {
    const call = callOf(route, raw)
    return call.ok ? work(call.value, raw) : refusal(call.error)
  },
})
