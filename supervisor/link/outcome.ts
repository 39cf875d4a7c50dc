/**
 * How one attempt to hold the link can end. The kind alone says what follows:
 *
 * unreachable  no answer to the dial, or none in time          redial, backing off
 * refused      the control plane said no, for now              redial, backing off
 * cut          it was attached and broke                       redial; the backoff starts over when it was stable
 * parked       the Computer was frozen and wakes               redial soon: its Sessions wait for it
 * out_of_step  a gap or an unreadable `attached`               redial, backing off: the replay fills it
 * faulted      this side could not store what it was told      redial, backing off: the replay repeats it
 * rejected     superseded, unauthorized, unsupported_protocol  never again: Session processes stop
 * stopped      this supervisor ends                            never again
 */
import type { ErrorCode, Failure } from "@computerd/protocol/errors"

export type AttemptOutcome =
  | { readonly kind: "unreachable"; readonly detail: string }
  | { readonly kind: "refused"; readonly error: Failure }
  | { readonly kind: "cut"; readonly detail: string }
  | { readonly kind: "parked"; readonly detail: string }
  | { readonly kind: "out_of_step"; readonly detail: string }
  | { readonly kind: "faulted"; readonly detail: string }
  | { readonly kind: "rejected"; readonly error: Failure }
  | { readonly kind: "stopped" }

export type Sequel = "redial" | "redial_afresh" | "redial_soon" | "stop"

export const sequel = (outcome: AttemptOutcome): Sequel => {
  switch (outcome.kind) {
    case "unreachable":
    case "refused":
    case "out_of_step":
    case "faulted":
      return "redial"
    case "cut":
      return "redial_afresh"
    case "parked":
      return "redial_soon"
    case "rejected":
    case "stopped":
      return "stop"
  }
}

const finalCodes: readonly ErrorCode[] = ["superseded", "unauthorized", "unsupported_protocol"]

export const refusal = (error: Failure): AttemptOutcome =>
  finalCodes.includes(error.code) ? { kind: "rejected", error } : { kind: "refused", error }

/** For status and the log. */
export const describe = (outcome: AttemptOutcome): string => {
  switch (outcome.kind) {
    case "refused":
    case "rejected":
      return `${outcome.error.code}: ${outcome.error.message}`
    case "stopped":
      return "stopped"
    default:
      return outcome.detail
  }
}
