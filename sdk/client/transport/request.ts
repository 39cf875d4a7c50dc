/** One request of the route table as `fetch` takes it. Pure: everything is encoded before anything is awaited. */
import type { BodyInputOf, ParamsInputOf, QueryInputOf, Route } from "@computerd/protocol/api/route"
import { judge } from "@computerd/protocol/judge"
import { invalidArgument } from "../errors.ts"

type Body<Given extends Route> = Given["body"]["kind"] extends "archive"
  ? Uint8Array<ArrayBuffer>
  : BodyInputOf<Given>

export interface Call<Given extends Route> {
  readonly route: Given
  readonly params: ParamsInputOf<Given>
  readonly query: QueryInputOf<Given>
  readonly body: Body<Given>
  /** What the request carries where its route wants it; told apart here so that an error can name it. */
  readonly idempotencyKey?: string
}

export interface Request {
  readonly method: string
  /** Below the base URL. */
  readonly target: string
  readonly contentType: string | undefined
  readonly body: string | Uint8Array<ArrayBuffer> | undefined
  readonly idempotencyKey: string | undefined
  /** Y1 */
  readonly repeatable: boolean
}

const filled = (route: Route, params: unknown): string => {
  const judged = judge(route.params, params)
  if (!judged.ok) throw invalidArgument(judged.error.field, judged.error.message)
  const values = new Map<string, unknown>(Object.entries(Object(judged.value)))
  return route.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(values.get(name))))
}

const queryOf = (query: unknown): string => {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(Object(query)))
    if (value !== undefined) search.append(name, String(value))
  return search.size === 0 ? "" : `?${search}`
}

const encoded = (route: Route, body: unknown): Pick<Request, "body" | "contentType"> => {
  switch (route.body.kind) {
    case "none":
      return { body: undefined, contentType: undefined }
    case "json":
      return { body: JSON.stringify(body), contentType: "application/json" }
    case "archive":
      if (!(body instanceof Uint8Array) || !(body.buffer instanceof ArrayBuffer))
        throw invalidArgument("archive", "must be the bytes of a tar archive")
      return {
        body: new Uint8Array(body.buffer, body.byteOffset, body.byteLength),
        contentType: "application/x-tar",
      }
  }
}

export const requestOf = <Given extends Route>(call: Call<Given>): Request => {
  const { route, idempotencyKey } = call
  return {
    method: route.method,
    target: `${filled(route, call.params)}${queryOf(call.query)}`,
    ...encoded(route, call.body),
    idempotencyKey,
    repeatable: route.method === "GET" || idempotencyKey !== undefined,
  }
}
