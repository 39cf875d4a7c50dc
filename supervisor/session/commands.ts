/**
 * Takes over what the control plane says, in the store only. Called inside the transaction that moves the inbound
 * cursor; what has to happen afterwards follows from the rows.
 */
import type { TurnId } from "@computerd/protocol/ids"
import { stopGraceMs } from "@computerd/protocol/limits"
import type { LinkCommand, LinkEvent, SessionAssignment } from "@computerd/protocol/link"
import type { Journal } from "../journal.ts"
import type { Store } from "../store/open.ts"
import type { SessionRow } from "../store/sessions.ts"
import type { Attached } from "./sessions.ts"
import { generationOf, type Turns } from "./turns.ts"

export interface CommandsDeps {
  readonly journal: Journal
  readonly store: Store
  readonly turns: Turns
  readonly emit: (event: LinkEvent) => void
}

export interface Commands {
  readonly apply: (command: LinkCommand) => void
  readonly reconcile: (run: Attached["run"]) => void
}

const freshRow = (assignment: SessionAssignment): SessionRow => ({
  sessionId: assignment.sessionId,
  assignment,
  generation: assignment.generation,
  wanted: true,
  turn: undefined,
  next: undefined,
  ending: undefined,
  finishedTurn: undefined,
  lastExit: undefined,
  recovery: undefined,
})

/** A Session whose loss was left to a person gets its next process with the release. */
const isReleased = (before: SessionAssignment, now: SessionAssignment): boolean =>
  before.holds.length > 0 && now.holds.length === 0

const isRecovering = ({ holds }: SessionAssignment): boolean => holds.some(({ kind }) => kind === "recovery")

export const createCommands = ({ journal, store, turns, emit }: CommandsDeps): Commands => {
  const { sessions } = store

  const assign = (assignment: SessionAssignment): void => {
    const { sessionId } = assignment
    const row = sessions.get(sessionId)
    const isHeld = assignment.holds.length > 0
    journal.record({ event: "session_assigned", sessionId, held: isHeld })
    if (row === undefined) {
      sessions.put(freshRow(assignment))
      return
    }
    sessions.put({
      ...row,
      assignment,
      generation: Math.max(row.generation, assignment.generation),
      wanted: row.wanted || isReleased(row.assignment, assignment),
      // Whoever releases a recovery hold has looked: earlier losses count no more.
      recovery: isRecovering(row.assignment) && !isRecovering(assignment) ? undefined : row.recovery,
      // A dropped Session that is assigned again lives on; a released one is closed for good.
      ending: row.ending?.kind === "dropped" ? undefined : row.ending,
    })
    if (isHeld) turns.recall(sessionId)
  }

  const release = ({ sessionId, graceMs }: Extract<LinkCommand, { readonly type: "release" }>): void => {
    const row = sessions.get(sessionId)
    if (row === undefined) emit({ type: "released", sessionId })
    else sessions.put({ ...row, ending: { kind: "released", graceMs } })
  }

  /** A Turn that a process of a lost store may have run is lost with it, never run again. */
  const loseTurn = (assignment: SessionAssignment, turnId: TurnId): void => {
    const row = sessions.get(assignment.sessionId)
    if (row === undefined) return
    const { sessionId } = row
    const reason = { kind: "unknown", message: "the record of this process was lost" } as const
    sessions.put({ ...row, wanted: false, finishedTurn: turnId, lastExit: reason })
    const generation = generationOf(row)
    emit({ type: "process_exited", sessionId, generation, reason, turnId, expected: false, next: "hold" })
  }

  const reconcileOne = ({ assignment, turn, cancel, messages }: Attached["run"][number]): void => {
    const { sessionId, generation } = assignment
    const isNew = sessions.get(sessionId) === undefined
    assign(assignment)
    const known = sessions.get(sessionId)
    if (known?.turn !== undefined && known.turn.data.id !== turn?.id) turns.withdraw(sessionId, stopGraceMs)
    if (turn === undefined || known?.finishedTurn === turn.id) return
    if (isNew && generation > 0) {
      loseTurn(assignment, turn.id)
      return
    }
    if (known?.turn?.data.id !== turn.id) turns.dispatch(sessionId, turn)
    for (const message of messages) turns.message({ sessionId, turnId: turn.id }, message)
    if (cancel !== undefined)
      turns.cancel({ sessionId, turnId: turn.id }, { status: cancel, graceMs: stopGraceMs })
  }

  return {
    apply: (command) => {
      switch (command.type) {
        case "assign":
          assign(command.assignment)
          break
        case "dispatch":
          turns.dispatch(command.sessionId, command.turn)
          break
        case "cancel_turn":
          turns.cancel(command, command)
          break
        case "message":
          turns.message(command, command.message)
          break
        case "answer":
          turns.answer(command)
          break
        case "release":
          release(command)
          break
        default:
          command satisfies never
      }
    },
    reconcile: (run) => {
      const listed = new Set(run.map((entry) => entry.assignment.sessionId))
      for (const row of sessions.all())
        if (!listed.has(row.sessionId) && row.ending === undefined)
          sessions.put({ ...row, ending: { kind: "dropped", graceMs: stopGraceMs } })
      for (const entry of run) reconcileOne(entry)
    },
  }
}
