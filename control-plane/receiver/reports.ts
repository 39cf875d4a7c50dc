/** What supervisors report over their link, applied once and in order. */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { ComputerId } from "@computerd/protocol/ids"
import type { LinkEvent } from "@computerd/protocol/link"
import { arrival } from "@computerd/protocol/numbering"
import type { Journal } from "../journal.ts"
import { checkEpoch } from "../rules/attachment.ts"
import type { Draft } from "../rules/draft.ts"
import { applyEvent } from "../rules/events.ts"
import type { Given } from "../rules/given.ts"
import { progress } from "../rules/progress.ts"

export interface Report {
  readonly computerId: ComputerId
  readonly epoch: number
  readonly seq: number
  readonly event: LinkEvent
}

const ignored = (journal: Journal, report: Report, reason: string): void => {
  const { event } = report
  journal.record({
    type: "event_ignored",
    computerId: report.computerId,
    event: event.type,
    sessionId: event.sessionId,
    turnId: "turnId" in event ? (event.turnId ?? null) : null,
    reason,
  })
}

const applyToSession = (draft: Draft, report: Report, given: Given): string | undefined => {
  const session = draft.session(report.event.sessionId)
  if (session === undefined || session.computerId !== report.computerId)
    return "the Session does not run on this Computer"
  return applyEvent(draft, session, report.event, given)
}

export const applyReport = (
  draft: Draft,
  report: Report,
  surroundings: { readonly given: Given; readonly journal: Journal },
): Result<void> => {
  const owner = checkEpoch(draft.computer(report.computerId), report.epoch)
  if (!owner.ok) return owner
  const { storeId } = owner.value
  const received = storeId === null ? undefined : draft.state.cursor(report.computerId, storeId)
  if (storeId === null || received === undefined)
    return fail("invalid_frame", "no supervisor of this Computer has attached")
  const order = arrival(received, report.seq)
  if (order === "repeat") return ok(undefined)
  if (order === "gap")
    return fail("invalid_frame", `event ${report.seq} does not follow ${received}; connect again to replay`)
  draft.moveCursor(report.computerId, storeId, report.seq)
  const reason = applyToSession(draft, report, surroundings.given)
  if (reason !== undefined) ignored(surroundings.journal, report, reason)
  progress(draft, surroundings.given)
  return ok(undefined)
}
