/** HTTP responses from what was decided. */
import type { HttpRefusal } from "./refusals.ts"

/** One object for all: the runtime copies it faster than it reads a literal. */
const jsonHeaders = { headers: new Headers({ "Content-Type": "application/json" }) }

export const jsonResponse = (text: string, status = 200): Response =>
  status === 200 ? new Response(text, jsonHeaders) : new Response(text, { status, ...jsonHeaders })

/** For a peer that is gone: the server wants an answer, and nobody reads it. */
export const unreadResponse = (): Response => new Response(null, { status: 400 })

export const acceptedResponse = (): Response => new Response(null, { status: 202 })

/** `unread`: more body is coming than is worth draining, so the connection ends here whatever the class says. */
export const refusalResponse = (refusal: HttpRefusal, rest: "read" | "unread"): Response => {
  const headers = new Headers({ "Content-Type": "text/plain; charset=utf-8", ...refusal.headers })
  if (refusal.connection === "close" || rest === "unread") headers.set("Connection", "close")
  return new Response(`${refusal.text}\n`, { status: refusal.status, headers })
}
