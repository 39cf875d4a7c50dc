/**
 * The way of a request through the public API. Each step is earned by the one before:
 *
 * G1 size of the URL → route → key → rate → permission → path and query → body → decision
 * G2 what is refused before its key is known says nothing of what exists
 */

import type { Route } from "@computerd/protocol/api/route"
import { openApiPath } from "@computerd/protocol/api/routes"
import { failure } from "@computerd/protocol/errors"
import { Elysia } from "elysia"
import type { Ports } from "../ports.ts"
import type { KeyHolder } from "../receiver/keys.ts"
import { type RawCall, revoked, type Served } from "./call.ts"
import type { Limiter } from "./limiter.ts"
import { openApiText } from "./openapi.ts"
import { refusal } from "./refusal.ts"
import type { ApiSettings } from "./settings.ts"

export interface AppDeps {
  readonly served: readonly Served[]
  readonly authenticate: (text: string) => KeyHolder | undefined
  readonly limiter: Limiter
  readonly settings: ApiSettings
  readonly ports: Pick<Ports, "journal">
}

const scheme = "Bearer "
/** Longer than any key that was ever issued. */
const headerMaxLength = 256
const secondMs = 1_000

const keyText = (request: Request): string | undefined => {
  const header = request.headers.get("authorization")
  if (header === null || header.length > headerMaxLength || !header.startsWith(scheme)) return undefined
  return header.slice(scheme.length)
}

const unauthorized = failure(
  "unauthorized",
  "an API key is needed: Authorization: Bearer hlm_…, made with computerd fleet keys",
)

const tooSoon = (waitMs: number): Response =>
  refusal(failure("rate_limited", "this key asks too often; wait as long as Retry-After says"), {
    "Retry-After": String(Math.ceil(waitMs / secondMs)),
  })

const forbidden = ({ permission }: Route): Response =>
  refusal(failure("permission_denied", `this API key lacks the permission ${permission}`))

interface Context {
  readonly params: unknown
  readonly query: unknown
  readonly request: Request
}

/** G1 */
const admit = async ({ route, answer }: Served, context: Context, deps: AppDeps): Promise<Response> => {
  const text = keyText(context.request)
  if (text === undefined) return refusal(unauthorized)
  const holder = deps.authenticate(text)
  if (holder === undefined) return refusal(revoked.error)
  const waitMs = deps.limiter.take(holder.id)
  if (waitMs > 0) return tooSoon(waitMs)
  if (route.permission !== null && !holder.permissions.has(route.permission)) return forbidden(route)
  const raw: RawCall = { ...context, holder, isLive: () => deps.authenticate(text) !== undefined }
  return answer(raw)
}

/** Which methods a path knows, for those who used another one. */
const methodsOf = (served: readonly Served[], path: string): readonly string[] =>
  [
    ...served.map(({ route }) => ({ method: route.method, form: route.path })),
    { method: "GET", form: openApiPath },
  ]
    .filter(({ form }) => new RegExp(`^${form.replaceAll(/:\w+/g, "[^/]+")}$`).test(path))
    .map(({ method }) => method)

const astray = (request: Request, deps: AppDeps): Response => {
  const allowed = methodsOf(deps.served, new URL(request.url).pathname)
  if (allowed.length === 0) return refusal(failure("not_found", "there is no such path"))
  const message = `use ${allowed.join(" or ")} here`
  return refusal(failure("method_not_allowed", message), { Allow: allowed.join(", ") })
}

const failed = (error: unknown, deps: AppDeps): Response => {
  const message = error instanceof Error ? error.message : "unknown reason"
  deps.ports.journal.record({ type: "task_failed", task: "public API request", message })
  return refusal(failure("internal", "the request failed; see the control plane's log"))
}

export const createApp = (deps: AppDeps): ((request: Request) => Response | Promise<Response>) => {
  const app = new Elysia()
  const document = openApiText()
  app.get(openApiPath, () => new Response(document, { headers: { "Content-Type": "application/json" } }))
  for (const one of deps.served) {
    // A path without parameters has none at all.
    const handler = ({ params = {}, query, request }: Context): Promise<Response> =>
      admit(one, { params, query, request }, deps)
    app.route(one.route.method, one.route.path, handler, { parse: "none" })
  }
  app.onError(({ code, error, request }) =>
    code === "NOT_FOUND" ? astray(request, deps) : failed(error, deps),
  )
  return (request) =>
    request.url.length > deps.settings.urlMaxBytes
      ? refusal(failure("request_too_large", `the URL is longer than ${deps.settings.urlMaxBytes} bytes`))
      : app.handle(request)
}
