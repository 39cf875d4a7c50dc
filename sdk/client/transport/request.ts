/** One request of the route table as `fetch` takes it. Pure. */
import type { BodyInputOf, ParamsInputOf, QueryInputOf, Route } from "@computerd/protocol/api/route"
import { judge } from "@computerd/protocol/judge"
import { invalidArgument } from "../errors.ts"

type Body<Given extends Route> = Given["body"]["kind"] extends "archive"
  ? Uint8Array<ArrayBuffer>
  : BodyInputOf<Given>

export interface Call<Given extends Route> {
  readonly route: Given
  readonly params: ParamsInputOf<Given>
  /** A function is asked before each attempt: what a wait asks for depends on the time that is left. */
  readonly query: QueryInputOf<Given> | (() => QueryInputOf<Given>)
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

/** What stands in the URL is judged here: it could not be told apart from another text once it is encoded. */
const checked = (schema: Route["params"], given: unknown): void => {
  const judged = judge(schema, given)
  if (!judged.ok) throw invalidArgument(judged.error.field, judged.error.message)
}

const filled = (route: Route, params: unknown): string => {
  checked(route.params, params)
  const values = new Map<string, unknown>(Object.entries(Object(params)))
  return route.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(values.get(name))))
}

const queryOf = (route: Route, given: unknown): string => {
  const query: unknown = typeof given === "function" ? given() : given
  checked(route.query, query)
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
  const { route, query, idempotencyKey } = call
  return {
    method: route.method,
    target: `${filled(route, call.params)}${queryOf(route, query)}`,
    ...encoded(route, call.body),
    idempotencyKey,
    repeatable: route.method === "GET" || idempotencyKey !== undefined,
  }
}
