/**
 * The error that authors receive. `code` is what a program decides on; the message is for people. Like definitions it
 * is recognised by a registered symbol, so `instanceof` holds between the program's copy of this class and the host's.
 */
import type { errorCodes } from "@computerd/protocol/errors"

export type ErrorCode = (typeof errorCodes)[number]

export interface ErrorDetails {
  readonly code: ErrorCode
  readonly message: string
  readonly field?: string | undefined
}

const brand: unique symbol = Symbol.for("helmr.error")

export class HelmrError extends Error {
  readonly code: ErrorCode
  /** Path into the argument that is at fault, such as `allow[0].agents[1]`. */
  readonly field: string | undefined
  readonly [brand] = true

  constructor(error: ErrorDetails) {
    super(error.message)
    this.name = "HelmrError"
    this.code = error.code
    this.field = error.field
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === "object" && value !== null && brand in value
  }
}
