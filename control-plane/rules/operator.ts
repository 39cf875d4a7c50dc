/** Controls that come from outside. The operator owns every tree; storage pressure is the system's alone. */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { HoldId, SessionId } from "@computerd/protocol/ids"
import { end } from "./controls.ts"
import type { Draft } from "./draft.ts"
import type { Session } from "./entities.ts"
import type { Given } from "./given.ts"
import { interrupt, pressStorage, releasableByOperator, release, relieveStorage } from "./holds.ts"
import { progress } from "./progress.ts"

const invalid = (field: string, problem: string): ReturnType<typeof fail> =>
  fail("invalid_arguments", `${field} ${problem}`, field)

export type OperatorControl =
  | { readonly kind: "interrupt" | "close" | "cancel"; readonly sessionId: SessionId }
  /** Said by the system, never by a person: the Computer's disk is full, or has room again. */
  | { readonly kind: "storage_pressure" | "storage_relieved"; readonly sessionId: SessionId }
  | { readonly kind: "release"; readonly sessionId: SessionId; readonly holdId: HoldId }

export interface OperatorReceipt {
  readonly sessionId: SessionId
  readonly status: "open" | "closing" | "closed"
  readonly holdId?: HoldId
}

const releaseByOperator = (
  draft: Draft,
  request: Extract<OperatorControl, { kind: "release" }>,
  given: Given,
): Result<HoldId> => {
  const hold = draft.hold(request.holdId)
  if (hold === undefined || hold.sessionId !== request.sessionId)
    return invalid("holdId", `${request.holdId} is no hold placed on Session ${request.sessionId}`)
  if (!releasableByOperator(hold)) return invalid("holdId", `${hold.id} is released by the system alone`)
  release(draft, hold, given)
  return ok(hold.id)
}

const perform = (
  draft: Draft,
  target: { readonly session: Session; readonly request: OperatorControl },
  given: Given,
): Result<HoldId | undefined> => {
  const { session, request } = target
  switch (request.kind) {
    case "interrupt":
      return ok(interrupt(draft, { session, placedBy: null }, given).id)
    case "storage_pressure":
      return ok(pressStorage(draft, session, given).id)
    case "storage_relieved":
      relieveStorage(draft, session, given)
      return ok(undefined)
    case "close":
    case "cancel":
      end(draft, session, request.kind)
      return ok(undefined)
    case "release":
      return releaseByOperator(draft, request, given)
  }
}

export const controlFromOutside = (
  draft: Draft,
  request: OperatorControl,
  given: Given,
): Result<OperatorReceipt> => {
  const session = draft.session(request.sessionId)
  if (session === undefined) return fail("not_found", `Session ${request.sessionId} does not exist`)
  const ends = request.kind === "close" || request.kind === "cancel"
  if (session.status === "closed" && !ends) return invalid("sessionId", `${session.id} is closed`)
  const done = perform(draft, { session, request }, given)
  if (!done.ok) return done
  progress(draft, given)
  const status = draft.session(session.id)?.status ?? session.status
  return ok({
    sessionId: session.id,
    status,
    ...(done.value === undefined ? {} : { holdId: done.value }),
  })
}
