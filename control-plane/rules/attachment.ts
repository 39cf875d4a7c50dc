/**
 * Which supervisor owns a Computer.
 *
 * B1 each attach gets a new epoch; frames of older ones are refused
 * B2 another store of the same Computer waits until the lease has lapsed or was given back: two supervisors never own it
 * B3 the answer holds everything that must run; commands that were pending are void, but for answers to questions, which
 *    are sent again
 * B4 a store that is new has no process but those it names: the others are lost
 */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { type ComputerId, Epoch } from "@computerd/protocol/ids"
import { type Lease, type LinkDownFrame, type LinkUpFrame, linkProtocol } from "@computerd/protocol/link"
import { assignmentOf, turnData } from "./assignment.ts"
import { touchSessionsOn } from "./capacity.ts"
import type { Draft } from "./draft.ts"
import { type Computer, isActive, type Session } from "./entities.ts"
import type { Given } from "./given.ts"
import { loseProcess } from "./loss.ts"
import { progress } from "./progress.ts"
import { everything } from "./state.ts"

export type AttachFrame = Extract<LinkUpFrame, { kind: "attach" }>
export type AttachedFrame = Extract<LinkDownFrame, { kind: "attached" }>

export const leaseOf = (computer: Computer, given: Given): Lease => ({
  epoch: Epoch.parse(computer.epoch),
  leaseMs: given.settings.leaseMs,
  renewMs: given.settings.leaseRenewMs,
})

const holdsLease = (computer: Computer, now: number): boolean =>
  computer.leaseUntil !== null && computer.leaseUntil > now

const checkAttach = (computer: Computer | undefined, frame: AttachFrame, now: number): Result<Computer> => {
  if (frame.protocol !== linkProtocol)
    return fail("unsupported_protocol", `this control plane speaks link protocol ${linkProtocol}`)
  if (computer === undefined || frame.computerId !== computer.id)
    return fail("unauthorized", "the credential belongs to another Computer")
  if (computer.status !== "available")
    return fail("unauthorized", `this Computer is ${computer.status}; its supervisor is to stop`)
  if (holdsLease(computer, now) && computer.storeId !== null && computer.storeId !== frame.storeId)
    return fail("admission_unavailable", "another supervisor holds the lease of this Computer; retry later")
  return ok(computer)
}

/**
 * A Session whose process is gone with its Computer. What was dispatched there may have run, although nobody said so:
 * it is lost like what ran, and never run again.
 */
export const loseOnComputer = (draft: Draft, session: Session, reason: string, given: Given): void => {
  const turn = draft.unsettled(session.id, 1).find(isActive)
  loseProcess(draft, { session, turn, reason, stopTimeout: false, expected: turn === undefined }, given)
}

/** B4 */
const loseUnnamed = (draft: Draft, computer: Computer, frame: AttachFrame, given: Given): void => {
  const living = new Set(frame.processes.map((process) => `${process.sessionId} ${process.generation}`))
  for (const session of draft.openSessionsOn(computer.id, everything)) {
    if (!living.has(`${session.id} ${session.generation}`))
      loseOnComputer(draft, session, "the Computer came back without it", given)
  }
}

const runEntry = (
  draft: Draft,
  session: Session,
  received: number,
): AttachedFrame["run"][number] | undefined => {
  const assignment = assignmentOf(draft, session)
  if (assignment === undefined) return undefined
  const turn = draft.unsettled(session.id, 1).find((head) => head.status === "running" || head.dispatched)
  if (turn === undefined) return { assignment, messages: [] }
  return {
    assignment,
    turn: turnData(draft, turn),
    ...(turn.stop === null ? {} : { cancel: turn.stop }),
    messages: draft.state
      .messagesAfter(turn.id, received)
      .map((message) => ({ messageId: message.id, content: [...message.content] })),
  }
}

/** B3: what was answered while nobody heard it. */
const answerAgain = (draft: Draft, computer: Computer, received: number): void => {
  for (const session of draft.openSessionsOn(computer.id, everything)) {
    const turn = draft.unsettled(session.id, 1).find(isActive)
    if (turn === undefined) continue
    for (const { question, content } of draft.state.answersAfter(turn.id, received))
      draft.sendAnswer(computer.id, question, content)
  }
}

/** B1–B4. What becomes runnable by the attach itself follows as commands numbered after the answer. */
export const attach = (
  draft: Draft,
  request: { readonly computerId: ComputerId; readonly frame: AttachFrame },
  given: Given,
): Result<AttachedFrame> => {
  const { frame } = request
  const checked = checkAttach(draft.computer(request.computerId), frame, given.now)
  if (!checked.ok) return checked
  const computer = checked.value
  const known = draft.state.cursor(computer.id, frame.storeId)
  if (computer.storeId !== null && computer.storeId !== frame.storeId)
    loseUnnamed(draft, computer, frame, given)
  draft.voidCommands(computer.id)
  const before = draft.computer(computer.id) ?? computer
  const owned: Computer = {
    ...before,
    epoch: before.epoch + 1,
    leaseUntil: given.now + given.settings.leaseMs,
    storeId: frame.storeId,
    bootId: frame.bootId,
    commandSeq: Math.max(before.commandSeq, frame.received),
    commandAck: Math.max(before.commandSeq, frame.received),
  }
  const run = draft
    .openSessionsOn(computer.id, everything)
    .map((session) => runEntry(draft, session, known === undefined ? 0 : frame.received))
    .filter((entry) => entry !== undefined)
  draft.putComputer({ ...owned, attached: true, residency: "running", error: null, updatedAt: given.now })
  if (known === undefined) draft.moveCursor(computer.id, frame.storeId, 0)
  answerAgain(draft, computer, known === undefined ? 0 : frame.received)
  touchSessionsOn(draft, computer)
  draft.touchComputer(computer.id)
  progress(draft, given)
  return ok({
    kind: "attached",
    protocol: linkProtocol,
    lease: leaseOf(owned, given),
    received: known ?? 0,
    commandSeq: owned.commandSeq,
    run,
  })
}

const superseded = fail("superseded", "another supervisor owns this Computer now; this one is to stop")

export const checkEpoch = (computer: Computer | undefined, epoch: number): Result<Computer> =>
  computer === undefined || computer.epoch !== epoch ? superseded : ok(computer)

export const renew = (
  draft: Draft,
  owner: { readonly computerId: ComputerId; readonly epoch: number },
  given: Given,
): Result<Lease> => {
  const checked = checkEpoch(draft.computer(owner.computerId), owner.epoch)
  if (!checked.ok) return checked
  draft.putComputer({ ...checked.value, leaseUntil: given.now + given.settings.leaseMs })
  return ok(leaseOf(checked.value, given))
}

/** The supervisor has stopped on purpose: its lease is over at once. */
export const detach = (
  draft: Draft,
  owner: { readonly computerId: ComputerId; readonly epoch: number },
): void => {
  const computer = draft.computer(owner.computerId)
  if (computer === undefined || computer.epoch !== owner.epoch) return
  draft.putComputer({ ...computer, leaseUntil: null, attached: false })
  draft.voidCommands(computer.id)
}
