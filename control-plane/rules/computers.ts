/** What drivers report of Computers, and the end of an unused one. */
import type { Residency } from "@computerd/protocol/content"
import type { ComputerId } from "@computerd/protocol/ids"
import { loseOnComputer } from "./attachment.ts"
import { touchSessionsOn } from "./capacity.ts"
import type { Draft } from "./draft.ts"
import type { Computer } from "./entities.ts"
import type { Given } from "./given.ts"
import { progress } from "./progress.ts"
import { everything } from "./state.ts"

export interface Reported {
  readonly computerId: ComputerId
  readonly residency: Residency
  readonly reason: string | undefined
}

/** A late `starting` does not hide that the supervisor has attached meanwhile. */
const isStale = (reported: Reported, attached: boolean): boolean =>
  attached && reported.residency === "starting"

export const reportState = (draft: Draft, reported: Reported, given: Given): void => {
  const computer = draft.computer(reported.computerId)
  if (computer === undefined || isStale(reported, computer.attached)) return
  const error = reported.residency === "unavailable" ? (reported.reason ?? "the driver gave no reason") : null
  if (computer.residency === reported.residency && computer.error === error) return
  draft.putComputer({ ...computer, residency: reported.residency, error, updatedAt: given.now })
  touchSessionsOn(draft, computer)
  draft.touchComputer(computer.id)
  progress(draft, given)
}

/** The supervisor is gone with every process: its epoch is over, whoever still speaks with it is fenced. */
export const loseComputer = (
  draft: Draft,
  lost: { readonly computerId: ComputerId; readonly reason: string },
  given: Given,
): void => {
  const computer = draft.computer(lost.computerId)
  if (computer === undefined) return
  draft.putComputer({
    ...computer,
    epoch: computer.epoch + 1,
    leaseUntil: null,
    attached: false,
    residency: "unavailable",
    error: lost.reason,
    updatedAt: given.now,
  })
  draft.voidCommands(computer.id)
  for (const session of draft.openSessionsOn(computer.id, everything)) {
    loseOnComputer(draft, session, lost.reason, given)
  }
  draft.touchComputer(computer.id)
  progress(draft, given)
}

/** The driver is to remove it. */
export const retire = (draft: Draft, computer: Computer, given: Given): void => {
  draft.putComputer({
    ...computer,
    status: "deleting",
    desired: "deleted",
    wantedSince: null,
    parkableSince: null,
    updatedAt: given.now,
  })
  draft.crowd(computer.environment)
}

/** Nothing has used it for its whole period: the driver is to remove it. */
export const retireUnused = (draft: Draft, computerId: ComputerId, given: Given): void => {
  const computer = draft.computer(computerId)
  if (computer?.status !== "available" || computer.unusedSince === null) return
  const period = computer.deleteAfterUnusedMs
  if (period === null || computer.unusedSince + period > given.now) return
  retire(draft, computer, given)
  progress(draft, given)
}

export const confirmDeleted = (draft: Draft, computerId: ComputerId, given: Given): void => {
  const computer = draft.computer(computerId)
  if (computer?.status !== "deleting") return
  draft.putComputer({
    ...computer,
    status: "deleted",
    residency: "cold",
    attached: false,
    leaseUntil: null,
    epoch: computer.epoch + 1,
    updatedAt: given.now,
  })
  draft.voidCommands(computer.id)
  draft.crowd(computer.environment)
  progress(draft, given)
}
