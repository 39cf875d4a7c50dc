/**
 * One attempt: sends a request and reads what comes back. The key goes to the base URL and nowhere else: a redirect is
 * not followed.
 */
import type { Connection } from "../options.ts"
import type { Fetch } from "../ports.ts"
import type { Outcome } from "./outcome.ts"
import { readBody } from "./read-body.ts"
import { refusalOf } from "./refusal.ts"
import type { Request } from "./request.ts"

export interface AttemptDeps {
  readonly connection: Connection
  readonly fetch: Fetch
}

export interface Sending {
  readonly request: Request
  readonly accept: "application/json" | "text/event-stream"
  readonly signal: AbortSignal
}

const headersOf = ({ request, accept }: Sending, { apiKey }: Connection) => ({
  accept,
  authorization: `Bearer ${apiKey}`,
  ...(request.contentType === undefined ? {} : { "content-type": request.contentType }),
})

/** The word that the system has for it, such as ECONNREFUSED, wherever this runtime keeps it. */
const causeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "unknown reason"
  const inner = error.cause instanceof Error ? error.cause : error
  return "code" in inner && typeof inner.code === "string" ? inner.code : inner.message
}

/** What failed may repeat the request, as the error pages of some proxies do. */
const withoutKey =
  ({ apiKey }: Connection) =>
  (text: string): string =>
    text.replaceAll(apiKey, "(the API key)")

const refused = async (response: Response, hide: (text: string) => string): Promise<Outcome<never>> => {
  const text = (await readBody(response)) ?? ""
  const { status, headers } = response
  const refusal = refusalOf({ status, retryAfter: headers.get("retry-after"), text, hide })
  return { kind: "refused", refusal }
}

/** Closes the connection of an answer that nobody reads. */
export const discard = async ({ body }: Response): Promise<void> => {
  await body?.cancel().catch(() => undefined)
}

const redirected = async (response: Response): Promise<Outcome<never>> => {
  await discard(response)
  const message =
    "the server answered with a redirect, which is not followed; give the final address as baseUrl"
  return { kind: "unexpected", message }
}

/** `read` gets answers of success only. */
export const attempt = async <Value>(
  sending: Sending,
  { connection, fetch }: AttemptDeps,
  read: (response: Response) => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> => {
  const { method, target, body } = sending.request
  const hide = withoutKey(connection)
  try {
    const response = await fetch(`${connection.baseUrl}${target}`, {
      method,
      headers: headersOf(sending, connection),
      // A redirect would be answered by somebody whom nobody named.
      redirect: "manual",
      signal: sending.signal,
      ...(body === undefined ? {} : { body }),
    })
    if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400))
      return await redirected(response)
    return response.ok ? await read(response) : await refused(response, hide)
  } catch (error) {
    return { kind: "unreachable", message: hide(causeOf(error)) }
  }
}
