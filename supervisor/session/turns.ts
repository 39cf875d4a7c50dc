/**
 * The dispatched Turn of a Session, in the store only. Everything here runs inside a transaction of the caller.
 *
 * TU1 a Turn that ended here is never taken again (`finishedTurn`)
 * TU2 a message is given to the process once
 * TU3 what is not delivered is reported: nothing of a Turn is dropped silently
 */
import type { TurnData } from "@computerd/protocol/channel"
import { errorTraits } from "@computerd/protocol/errors"
import { Generation, type SessionId, type TurnId } from "@computerd/protocol/ids"
import { stopGraceMs } from "@computerd/protocol/limits"
import type { LinkCommand, LinkEvent } from "@computerd/protocol/link"
import type { Journal } from "../journal.ts"
import type { Clock } from "../ports.ts"
import type { Store } from "../store/open.ts"
import type { SessionRow, StoredMessage, StoredTurn } from "../store/sessions.ts"
import { dropMessages } from "./exit.ts"
import type { DownFrames } from "./frames.ts"

export interface TurnsDeps {
  readonly clock: Clock
  readonly journal: Journal
  readonly store: Store
  /** Numbers a frame for the process. */
  readonly push: DownFrames["push"]
  readonly emit: (event: LinkEvent) => void
  /** The running Turn must end within the time. Called after the commit. */
  readonly limitTurn: (sessionId: SessionId, turnId: TurnId, graceMs: number) => void
}

export interface CancelRequest {
  readonly status: "interrupted" | "cancelled"
  readonly graceMs: number
}

interface OfTurn {
  readonly sessionId: SessionId
  readonly turnId: TurnId
}

export interface Turns {
  readonly dispatch: (sessionId: SessionId, turn: TurnData) => void
  readonly cancel: (of: OfTurn, request: CancelRequest) => void
  readonly message: (of: OfTurn, message: StoredMessage) => void
  readonly answer: (command: Extract<LinkCommand, { readonly type: "answer" }>) => void
  /** The control plane has no such Turn any more: it never began, or it must stop. */
  readonly withdraw: (sessionId: SessionId, graceMs: number) => void
  /** What no process has been given waits at the control plane again. */
  readonly recall: (sessionId: SessionId) => void
  /** Hands the waiting Turn and its messages to the process. */
  readonly give: (row: SessionRow) => void
}

/** Events bear a generation even when no process was ever started: the one that would have been. */
export const generationOf = (row: SessionRow): Generation => Generation.parse(Math.max(1, row.generation))

export const createTurns = (deps: TurnsDeps): Turns => {
  const { store, emit, push } = deps
  const { sessions } = store

  const ignore = (sessionId: SessionId, type: string, why: string): void =>
    deps.journal.record({ event: "command_ignored", sessionId, type, why })

  /** Why a Turn is not taken; `undefined`: it is. */
  const refusal = (row: SessionRow | undefined, turn: TurnData): string | undefined => {
    if (row === undefined) return "the Session is not assigned here"
    if (row.finishedTurn === turn.id) return "the Turn has ended here"
    const isPast = row.turn !== undefined && turn.sequence < row.turn.data.sequence
    return isPast ? "a later Turn is here" : undefined
  }

  /** One Turn at a time: another one that still runs must stop first, since it has ended for the control plane. */
  const displace = (row: SessionRow, next: StoredTurn): void => {
    const { sessionId, turn } = row
    if (turn?.phase === "sent") {
      sessions.put({ ...row, wanted: true, next })
      cancel({ sessionId, turnId: turn.data.id }, { status: "interrupted", graceMs: stopGraceMs })
      return
    }
    dropMessages(deps, row)
    sessions.put({ ...row, wanted: true, turn: next })
  }

  const dispatch = (sessionId: SessionId, data: TurnData): void => {
    const row = sessions.get(sessionId)
    const why = refusal(row, data)
    if (row === undefined || why !== undefined) ignore(sessionId, "dispatch", why ?? "")
    else if (row.turn?.data.id === data.id) sessions.put({ ...row, wanted: true })
    else displace(row, { data, phase: "waiting", atMs: deps.clock.wallMs() })
  }

  /** No process ever got it, so it ends here and now. */
  const settleUngiven = (row: SessionRow, turnId: TurnId, status: CancelRequest["status"]): void => {
    const { sessionId } = row
    if (row.turn?.data.id === turnId) {
      dropMessages(deps, row)
      sessions.put({ ...row, turn: undefined, finishedTurn: turnId })
    } else sessions.put({ ...row, next: undefined })
    const error = { code: status, message: errorTraits[status].advice }
    const generation = generationOf(row)
    emit({ type: "turn_settled", sessionId, generation, turnId, outcome: { status, error } })
  }

  const cancel = ({ sessionId, turnId }: OfTurn, { status, graceMs }: CancelRequest): void => {
    const row = sessions.get(sessionId)
    const turn = [row?.turn, row?.next].find((each) => each?.data.id === turnId)
    if (row === undefined || turn === undefined) ignore(sessionId, "cancel_turn", "it does not run here")
    else if (turn.phase === "waiting") settleUngiven(row, turnId, status)
    else if (turn.cancel?.status !== status) {
      sessions.put({ ...row, turn: { ...turn, cancel: { status, graceMs } } })
      push(sessionId, { type: "cancel_turn", turnId, status })
      store.afterCommit(() => deps.limitTurn(sessionId, turnId, graceMs))
    }
  }

  const giveMessages = ({ sessionId, turnId }: OfTurn): void => {
    for (const { messageId, content } of sessions.takeMessages(sessionId))
      push(sessionId, { type: "message", turnId, messageId, content: [...content] })
  }

  const recall = (sessionId: SessionId): void => {
    const row = sessions.get(sessionId)
    if (row?.turn?.phase === "waiting") {
      dropMessages(deps, row)
      sessions.put({ ...row, turn: undefined, next: undefined })
    } else if (row?.next !== undefined) sessions.put({ ...row, next: undefined })
  }

  return {
    dispatch,
    cancel,
    message: ({ sessionId, turnId }, message) => {
      const turn = sessions.get(sessionId)?.turn
      if (turn?.data.id !== turnId) {
        emit({ type: "messages_dropped", sessionId, turnId, messageIds: [message.messageId] })
        return
      }
      sessions.keepMessage({ sessionId, turnId }, message)
      if (turn.phase === "sent") giveMessages({ sessionId, turnId })
    },
    answer: ({ sessionId, turnId, requestId, result }) => {
      const turn = sessions.get(sessionId)?.turn
      if (turn?.data.id === turnId && turn.phase === "sent")
        push(sessionId, { type: "ask_result", requestId, result })
      else ignore(sessionId, "answer", "the Turn that asked has ended")
    },
    withdraw: (sessionId, graceMs) => {
      recall(sessionId)
      const turn = sessions.get(sessionId)?.turn
      if (turn !== undefined) cancel({ sessionId, turnId: turn.data.id }, { status: "interrupted", graceMs })
    },
    recall,
    give: (row) => {
      if (row.turn === undefined) return
      const { sessionId } = row
      sessions.put({ ...row, turn: { ...row.turn, phase: "sent", atMs: deps.clock.wallMs() } })
      push(sessionId, { type: "turn", turn: row.turn.data })
      giveMessages({ sessionId, turnId: row.turn.data.id })
    },
  }
}
