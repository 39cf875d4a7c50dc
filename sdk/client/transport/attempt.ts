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
  readonly headers?: Readonly<Record<string, string>>
}

const headersOf = ({ request, accept, headers }: Sending, { authorization }: Connection) => ({
  ...headers,
  accept,
  authorization,
  ...(request.contentType === undefined ? {} : { "content-type": request.contentType }),
})

/** The word that the system has for it, such as ECONNREFUSED, wherever this runtime keeps it. */
const causeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "unknown reason"
  const inner = error.cause instanceof Error ? error.cause : error
  return "code" in inner && typeof inner.code === "string" ? inner.code : inner.message
}

const refused = async (response: Response): Promise<Outcome<never>> => {
  const text = (await readBody(response)) ?? ""
  const { status, headers } = response
  return { kind: "refused", refusal: refusalOf({ status, retryAfter: headers.get("retry-after"), text }) }
}

const redirected = ({ status }: Response): Outcome<never> => ({
  kind: "unexpected",
  message: `the server answered ${status}, a redirect, which is not followed; give the final address as baseUrl`,
})

/** `read` gets answers of success only. */
export const attempt = async <Value>(
  sending: Sending,
  { connection, fetch }: AttemptDeps,
  read: (response: Response) => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> => {
  const { method, target, body } = sending.request
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
      return redirected(response)
    return response.ok ? await read(response) : await refused(response)
  } catch (error) {
    return { kind: "unreachable", message: causeOf(error) }
  }
}
