/** What a client is made with, judged at once: a wrong address or key is an error of the constructor. */
import { invalidArgument } from "./errors.ts"
import type { Fetch } from "./ports.ts"

export interface HelmrClientOptions {
  /** Where the control plane is reached, such as `https://helmr.example.com`; a path in it stays in front of the API's. */
  readonly baseUrl: string
  /** Sent to `baseUrl` and nowhere else. */
  readonly apiKey: string
  /** For a whole call with its repetitions, unless the call says otherwise. Default: 60 s. */
  readonly timeoutMs?: number | undefined
  /**
   * How often a call is repeated at most when that is safe and may help. Default: 7, which takes about 15 s. Waits and
   * streams go on for their own time.
   */
  readonly maxRetries?: number | undefined
  /** Instead of the global one. */
  readonly fetch?: Fetch | undefined
  /** Ends every call and every stream of this client when it aborts. */
  readonly signal?: AbortSignal | undefined
}

/** What every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** For the whole call with its repetitions. */
  readonly timeoutMs?: number | undefined
}

const callOptionNames: ReadonlySet<string> = new Set(["signal", "timeoutMs", "attemptMs", "maxRetries"])

/** A misspelt `idempotencyKey` would be lost in silence, and with it what it was given for. */
export const refuseUnknown = (options: object): void => {
  const unknown = Object.keys(options).find((name) => !callOptionNames.has(name))
  if (unknown !== undefined) throw invalidArgument(unknown, "is no option of this call")
}

/** What calls that change something take. */
export interface MutationOptions extends CallOptions {
  /** The same request under the same key has one effect and one answer. Absent: the client makes one for the call. */
  readonly idempotencyKey?: string | undefined
}

export interface Connection {
  /** Without a slash at its end. */
  readonly baseUrl: string
  readonly apiKey: string
  readonly timeoutMs: number
  readonly maxRetries: number
  readonly signal: AbortSignal | undefined
}

const timeoutDefaultMs = 60_000
const maxRetriesDefault = 7

const parsed = (text: string): URL => {
  try {
    return new URL(text)
  } catch {
    throw invalidArgument("baseUrl", "must be an absolute URL, such as https://helmr.example.com")
  }
}

const baseOf = (text: string): string => {
  const url = parsed(text)
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw invalidArgument("baseUrl", "must begin with https: or http:")
  if (url.username !== "" || url.password !== "")
    throw invalidArgument("baseUrl", "must not hold a user or a password; the key is given as apiKey")
  if (url.search !== "" || url.hash !== "") throw invalidArgument("baseUrl", "must end with its path")
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`
}

/** Whatever else it is: what a header cannot carry would be repeated by the error of `fetch`. */
const keyForm = /^[\x21-\x7e]{1,512}$/

export const positiveMs = (field: string, value: number): number => {
  if (!(value > 0)) throw invalidArgument(field, "must be a positive number of milliseconds")
  return value
}

const countOf = (maxRetries: number): number => {
  if (!Number.isSafeInteger(maxRetries) || maxRetries < 0)
    throw invalidArgument("maxRetries", "must be a whole number from 0")
  return maxRetries
}

export const connectionOf = (options: HelmrClientOptions): Connection => {
  if (typeof options !== "object" || options === null)
    throw invalidArgument("options", "must be an object with baseUrl and apiKey")
  if (typeof options.apiKey !== "string" || !keyForm.test(options.apiKey))
    throw invalidArgument("apiKey", "must be the text of a key, without spaces or line ends")
  return {
    baseUrl: baseOf(options.baseUrl),
    apiKey: options.apiKey,
    timeoutMs: positiveMs("timeoutMs", options.timeoutMs ?? timeoutDefaultMs),
    maxRetries: countOf(options.maxRetries ?? maxRetriesDefault),
    signal: options.signal,
  }
}

export const timeoutOf = (options: CallOptions, otherwiseMs: number): number =>
  positiveMs("timeoutMs", options.timeoutMs ?? otherwiseMs)
