/**
 * A client of one Session's endpoint that survives all its processes: it writes down every attempt, and repeats a call
 * under its key until the answer says what was done.
 */

import type { Json } from "@computerd/protocol/content"
import { type ErrorCode, errorTraits } from "@computerd/protocol/errors"
import type { EntryOf, Outcome } from "../history/record.ts"
import type { Book } from "../world/book.ts"

type Definite = Exclude<Outcome, { readonly kind: "unknown" }>
type Arguments = Readonly<Record<string, Json>>

export interface Request {
  readonly tool: string
  readonly arguments: Arguments
  /** Of a mutation. */
  readonly key?: string
}

export interface Caller {
  readonly session: string
  /** Nothing: it was given up before an answer came. */
  readonly ask: (request: Request) => Promise<Definite | undefined>
}

export interface CallerDeps {
  readonly book: Book
  readonly random: () => number
  /** Answers are waited for no longer. */
  readonly giveUp: AbortSignal
}

const callTimeoutMs = 3_000
const againMs = 100

const unknown = (why: string): Outcome => ({ kind: "unknown", why })

const isCode = (code: string): code is ErrorCode => code in errorTraits

/** What a code says of a mutation: that nothing was done, or nothing at all. */
const refusal = (text: string): Outcome => {
  const code = text.split(":")[0] ?? ""
  const isFinal = isCode(code) && !errorTraits[code].retryable && code !== "authority_changed"
  return isFinal ? { kind: "refused", code } : unknown(code)
}

interface ToolResult {
  readonly isError?: boolean
  readonly content?: readonly { readonly text: string }[]
}

const outcomeOf = async (response: Response): Promise<Outcome> => {
  if (response.status !== 200) {
    await response.body?.cancel()
    return unknown(`HTTP ${response.status}`)
  }
  const { result } = (await response.json()) as { readonly result?: ToolResult }
  const text = result?.content?.[0]?.text
  if (text === undefined) return unknown("no result")
  return result?.isError === true ? refusal(text) : { kind: "answered", value: JSON.parse(text) }
}

/** One request with this header, whatever becomes of it. */
export const post = (
  { url, authorization }: Pick<EntryOf<"initialised">, "url" | "authorization">,
  name: string,
  given: Arguments,
): Promise<Response> =>
  fetch(url, {
    method: "POST",
    keepalive: false,
    headers: { Authorization: authorization, "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: given } }),
    signal: AbortSignal.timeout(callTimeoutMs),
  })

export const createCaller = (session: string, { book, random, giveUp }: CallerDeps): Caller => {
  const attempt = async (given: Arguments, { tool, key }: Request): Promise<Outcome> => {
    const process = book.processes(session).at(-1)
    if (process === undefined) return unknown("no process has initialised")
    const call = crypto.randomUUID()
    book.write({ kind: "asked", call, caller: session, tool, key: key ?? null, arguments: given })
    const outcome = await post(process, tool, given)
      .then(outcomeOf)
      .catch((error: unknown) => unknown(error instanceof Error ? error.name : "no answer"))
    book.write({ kind: "outcome", call, outcome })
    return outcome
  }

  return {
    session,
    ask: async (request) => {
      const { key } = request
      const given = key === undefined ? request.arguments : { ...request.arguments, idempotencyKey: key }
      while (!giveUp.aborted) {
        const outcome = await attempt(given, request)
        if (outcome.kind !== "unknown") return outcome
        await Bun.sleep(againMs * (0.5 + random()))
      }
      return undefined
    },
  }
}
