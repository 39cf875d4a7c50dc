/**
 * Which Computers run.
 *
 * R1 without a limit every Computer runs; with one, a Computer runs when it has work and there is room
 * R2 room goes to who has waited longest; a Computer with nothing to do is parked when another waits for its room
 * R3 the running and those that are tried again stay within the limit together: a Computer that cannot be made gives
 *    its place to one that waits, and tries again when there is room
 * R4 a wait that could only end if the caller's own Computer gave up its room is blocked
 */
import type { EnvironmentKey, SessionId } from "@computerd/protocol/ids"
import type { Draft } from "./draft.ts"
import { type Computer, isActive, type Session, type Turn } from "./entities.ts"
import type { Given } from "./given.ts"
import { isHeld } from "./holds.ts"
import { everything } from "./state.ts"

const physical: readonly Computer["residency"][] = ["starting", "running", "restoring", "parking"]

/** A Computer that cannot be made holds nobody up. */
export const takesRoom = (computer: Computer): boolean =>
  computer.status !== "deleted" &&
  (physical.includes(computer.residency) ||
    (computer.desired === "running" && computer.residency !== "unavailable"))

const limitOf = (environment: EnvironmentKey, given: Given): number | null =>
  given.settings.environments(environment).runningComputersMax

type Demand = "busy" | "wants" | "none"

const demandOf = (draft: Draft, session: Session): Demand => {
  const head = draft.unsettled(session.id, 1)[0]
  if (session.process === "starting" || (head !== undefined && isActive(head))) return "busy"
  if (head === undefined || session.closing === "cancel" || isHeld(draft, session)) return "none"
  return "wants"
}

const demandOn = (draft: Draft, computer: Computer): Demand => {
  const demands = draft.openSessionsOn(computer.id, everything).map((session) => demandOf(draft, session))
  if (demands.includes("busy")) return "busy"
  return demands.includes("wants") ? "wants" : "none"
}

/** R1, one Computer's own part: whether it waits for room or could give some back. */
const withDemand = (draft: Draft, computer: Computer, given: Given): Computer => {
  const demand = demandOn(draft, computer)
  if (computer.desired !== "running") {
    const wantedSince = demand === "none" ? null : (computer.wantedSince ?? given.now)
    return { ...computer, wantedSince, parkableSince: null }
  }
  if (demand !== "none") return { ...computer, wantedSince: null, parkableSince: null }
  if (computer.residency === "cold" || computer.residency === "unavailable")
    return { ...computer, desired: "idle", wantedSince: null, parkableSince: null }
  return { ...computer, wantedSince: null, parkableSince: computer.parkableSince ?? given.now }
}

const withUse = (draft: Draft, computer: Computer, given: Given): Computer => {
  const used = draft.openSessionsOn(computer.id, 1).length > 0
  return { ...computer, unusedSince: used ? null : (computer.unusedSince ?? given.now) }
}

const changed = (before: Computer, after: Computer): boolean =>
  before.desired !== after.desired ||
  before.unusedSince !== after.unusedSince ||
  before.wantedSince !== after.wantedSince ||
  before.parkableSince !== after.parkableSince

/** Longest first; of equals, the one that was made first. */
const oldest = (
  computers: readonly Computer[],
  since: (computer: Computer) => number | null,
): Computer | undefined => {
  const isBefore = (left: Computer, right: Computer): boolean => {
    const difference = (since(left) ?? 0) - (since(right) ?? 0)
    return difference < 0 || (difference === 0 && left.id < right.id)
  }
  return computers
    .filter((computer) => since(computer) !== null)
    .reduce<Computer | undefined>(
      (best, computer) => (best === undefined || isBefore(computer, best) ? computer : best),
      undefined,
    )
}

const roomTaken = (draft: Draft, environment: EnvironmentKey): readonly Computer[] =>
  draft.computersOf({
    name: `room taken in ${environment}`,
    load: () => draft.state.roomTaken(environment),
    belongs: (computer) => computer.environment === environment && takesRoom(computer),
    limit: everything,
  })

const isRetried = (computer: Computer): boolean =>
  computer.status !== "deleted" && computer.desired === "running" && computer.residency === "unavailable"

const roomRetried = (draft: Draft, environment: EnvironmentKey): readonly Computer[] =>
  draft.computersOf({
    name: `room retried in ${environment}`,
    load: () => draft.state.roomRetried(environment),
    belongs: (computer) => computer.environment === environment && isRetried(computer),
    limit: everything,
  })

/** Of two that both cannot be made, the one that waits has its try after this long; drivers try again for longer. */
const retryTurnMs = 10_000

const maySupplant = (next: Computer, given: Given): boolean =>
  next.residency !== "unavailable" || given.now - (next.wantedSince ?? given.now) >= retryTurnMs

/** Those that wait for room and do not still occupy some; `taken` bounds how many of the waiting could. */
const waiting = (draft: Draft, environment: EnvironmentKey, taken: number): readonly Computer[] =>
  draft
    .computersOf({
      name: `waiting in ${environment}`,
      load: (limit) => draft.state.waitingForRoom(environment, limit),
      belongs: (computer) => computer.environment === environment && computer.wantedSince !== null,
      limit: taken + 1 + draft.writtenComputers,
    })
    .filter((computer) => !takesRoom(computer))

/** R2: gives out what room there is, then asks for as many parkings as there are Computers left waiting. */
export const allot = (draft: Draft, environment: EnvironmentKey, given: Given): void => {
  const limit = limitOf(environment, given)
  if (limit === null) return
  for (;;) {
    const taken = roomTaken(draft, environment)
    const queue = waiting(draft, environment, taken.length)
    const next = oldest(queue, (computer) => computer.wantedSince)
    if (next === undefined) return
    const [yielding, ...retried] = roomRetried(draft, environment)
    const free = taken.length + retried.length + (yielding === undefined ? 0 : 1) < limit
    if (free || (taken.length < limit && maySupplant(next, given))) {
      if (!free && yielding !== undefined)
        draft.putComputer({ ...yielding, desired: "idle", wantedSince: given.now })
      draft.putComputer({ ...next, desired: "running", wantedSince: null })
      continue
    }
    if (taken.length < limit) return
    const parking = taken.filter((computer) => computer.desired === "parked").length
    const parkable = taken.filter((computer) => computer.residency === "running")
    const idlest = oldest(parkable, (computer) => computer.parkableSince)
    if (idlest === undefined || parking >= queue.length) return
    draft.putComputer({ ...idlest, desired: "parked", parkableSince: null })
  }
}

/** Works out one Computer's own part; room is given out when every Computer's part is known. */
export const advanceComputer = (draft: Draft, computer: Computer, given: Given): void => {
  // Also one that is going away gives room back.
  draft.crowd(computer.environment)
  if (computer.status !== "available") return
  const limit = limitOf(computer.environment, given)
  const used = withUse(draft, computer, given)
  const next: Computer =
    limit === null
      ? { ...used, desired: "running", wantedSince: null, parkableSince: null }
      : withDemand(draft, used, given)
  if (changed(computer, next)) draft.putComputer({ ...next, updatedAt: given.now })
}

export const isLimited = (environment: EnvironmentKey, given: Given): boolean =>
  limitOf(environment, given) !== null

/** R4: the limit leaves no room beside the caller's own Computer, even if all else ended. */
export const isWaitBlocked = (
  draft: Draft,
  wait: { readonly caller: Session; readonly session: Session; readonly turn: Turn },
  given: Given,
): boolean => {
  const { caller, session, turn } = wait
  const limit = limitOf(session.environment, given)
  if (limit === null || limit >= 2 || turn.status !== "queued" || turn.dispatched) return false
  if (session.computerId === caller.computerId || isHeld(draft, session)) return false
  const computer = draft.computer(session.computerId)
  return computer !== undefined && !takesRoom(computer)
}

/** Work may go on where it could not: what the Sessions of a Computer wait for is looked at again. */
export const touchSessionsOn = (draft: Draft, computer: Computer): readonly SessionId[] => {
  const sessions = draft.openSessionsOn(computer.id, everything)
  for (const session of sessions) draft.touch(session.id)
  return sessions.map((session) => session.id)
}
