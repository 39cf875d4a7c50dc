/**
 * The errors of `HelmrClient`. Each is a `HelmrError`, so that `code` is all that most programs look at. Like that class
 * they are recognised by registered symbols. None carries the API key or a header.
 */
import { type ErrorDetails, HelmrError } from "../error.ts"

const apiBrand: unique symbol = Symbol.for("helmr.error.api")
const connectionBrand: unique symbol = Symbol.for("helmr.error.connection")

const carries = (value: unknown, brand: symbol): boolean =>
  typeof value === "object" && value !== null && brand in value

export interface ApiErrorDetails {
  readonly status: number
  /** Of the refused request, when it had one. */
  readonly idempotencyKey?: string | undefined
  /** How long the server asked to wait. */
  readonly retryAfterMs?: number | undefined
}

/** The server refused the request. */
export class HelmrApiError extends HelmrError {
  /** The HTTP status. */
  readonly status: number
  readonly idempotencyKey: string | undefined
  readonly retryAfterMs: number | undefined
  readonly [apiBrand] = true

  constructor(details: ErrorDetails, { status, idempotencyKey, retryAfterMs }: ApiErrorDetails) {
    super(details)
    this.name = "HelmrApiError"
    this.status = status
    this.idempotencyKey = idempotencyKey
    this.retryAfterMs = retryAfterMs
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return carries(value, apiBrand)
  }
}

/**
 * `unreachable`: nothing answered. `timeout`: no answer came within the call's time. `unexpected_answer`: what answered
 * does not speak this API, or another version of it.
 */
export type ConnectionTrouble = "unreachable" | "timeout" | "unexpected_answer"

/** There is no answer that counts. A request that changes something may have been carried out. */
export class HelmrConnectionError extends HelmrError {
  readonly reason: ConnectionTrouble
  /** Of a request that changes something: the same call with this key finds out, and has no second effect. */
  readonly idempotencyKey: string | undefined
  readonly [connectionBrand] = true

  constructor(reason: ConnectionTrouble, message: string, idempotencyKey?: string) {
    super({
      code: reason === "unexpected_answer" ? "unsupported_protocol" : "admission_unavailable",
      message,
    })
    this.name = "HelmrConnectionError"
    this.reason = reason
    this.idempotencyKey = idempotencyKey
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return carries(value, connectionBrand)
  }
}

export const invalidArgument = (field: string, message: string): HelmrError =>
  new HelmrError({ code: "invalid_arguments", message: `${field} ${message}`, field })
