/**
 * What the end of a Session process means.
 *
 * L1 a Turn that ran in it settles `interrupted`: `stop_timeout` when it would not stop, `process_lost` otherwise; it is
 *    never run again, and its Session is held for recovery
 * L2 a process that was lost with no Turn in it holds its Session for recovery when its supervisor leaves it to a person;
 *    its queued Turns stay queued
 * L3 a supervisor that does not say what it does leaves a process that never became ready, and the `lossesMax`th loss
 *    in a row, to a person
 * L4 a loss under a hold that took no Turn with it counts for nothing: the next process starts after the release
 */
import type { Draft } from "./draft.ts"
import type { Session, Turn } from "./entities.ts"
import type { Given } from "./given.ts"
import { isHeld, isolate } from "./holds.ts"
import { settle } from "./settle.ts"

/** Losses without a settled Turn between them after which a person looks. */
const lossesMax = 3

export interface Loss {
  readonly session: Session
  /** The Turn that ran, if one did. */
  readonly turn: Turn | undefined
  readonly reason: string
  readonly stopTimeout: boolean
  /** The process was asked to end and nothing ran in it. */
  readonly expected: boolean
  /** What the supervisor does about it. */
  readonly next?: "restart" | "after_release" | "hold"
}

type Counted = Pick<Session, "process" | "losses">

/** L2 L3 */
const isLeftToPerson = ({ next }: Loss, { process, losses }: Counted): boolean =>
  next === undefined ? process === "starting" || losses >= lossesMax : next === "hold"

/** L4; `harmless` is the loss when it took nothing with it that was not to go. */
const lossesAfter = ({ losses }: Session, harmless: Loss | undefined): number => {
  if (harmless === undefined) return losses + 1
  return harmless.expected ? 0 : losses
}

/** L1 */
const settleLost = (draft: Draft, turn: Turn, loss: Loss, given: Given): boolean =>
  settle(
    draft,
    turn,
    {
      status: "interrupted",
      error: loss.stopTimeout
        ? { code: "stop_timeout", message: `The handler ignored its signal: ${loss.reason}.` }
        : { code: "process_lost", message: `The Session process ended during the Turn: ${loss.reason}.` },
    },
    given,
  )

/** What was dispatched and had not started waits again. */
const recallUnstarted = (draft: Draft, session: Session): void => {
  const head = draft.unsettled(session.id, 1)[0]
  if (head?.status === "queued" && head.dispatched) draft.putTurn({ ...head, dispatched: false })
}

export const loseProcess = (draft: Draft, loss: Loss, given: Given): void => {
  const { session, turn } = loss
  const settled = turn !== undefined && settleLost(draft, turn, loss, given)
  const isHarmless = !settled && (loss.expected || isHeld(draft, session))
  const losses = lossesAfter(session, isHarmless ? loss : undefined)
  const current: Session = { ...session, process: "none", losses, lossReason: loss.reason }
  draft.putSession(current)
  recallUnstarted(draft, session)
  draft.reassign(session.id)
  const isDangerous = settled || (!isHarmless && isLeftToPerson(loss, { process: session.process, losses }))
  if (!isDangerous || session.closing === "cancel") return
  const gap = {
    reason: loss.reason,
    turnId: settled ? turn.id : null,
    generation: session.generation,
  }
  isolate(draft, { session: current, gap }, given)
}
