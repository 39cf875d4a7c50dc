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
import type { LinkCommand, LinkEvent } from "@computerd/protocol/link"
import type { Journal } from "../journal.ts"
import type { Clock } from "../ports.ts"
import type { Store } from "../store/open.ts"
import type { SessionRow, StoredMessage } from "../store/sessions.ts"
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

  /** TU3 */
  const dropMessages = ({ sessionId, turnId }: OfTurn): void => {
    const messageIds = sessions.takeMessages(sessionId).map((message) => message.messageId)
    sessions.dropMessages(sessionId)
    if (messageIds.length > 0) emit({ type: "messages_dropped", sessionId, turnId, messageIds })
  }

  /** Why a Turn is not taken; `undefined`: it is. */
  const refusal = (row: SessionRow | undefined, turn: TurnData): string | undefined => {
    if (row === undefined) return "the Session is not assigned here"
    if (row.finishedTurn === turn.id) return "the Turn has ended here"
    const isOther = row.turn !== undefined && row.turn.data.id !== turn.id
    return isOther && row.turn?.phase === "sent" ? "another Turn is running" : undefined
  }

  const dispatch = (sessionId: SessionId, turn: TurnData): void => {
    const row = sessions.get(sessionId)
    const why = refusal(row, turn)
    if (row === undefined || why !== undefined) {
      ignore(sessionId, "dispatch", why ?? "")
      return
    }
    const isKnown = row.turn?.data.id === turn.id
    if (row.turn !== undefined && !isKnown) dropMessages({ sessionId, turnId: row.turn.data.id })
    const atMs = deps.clock.wallMs()
    sessions.put({ ...row, wanted: true, turn: isKnown ? row.turn : { data: turn, phase: "waiting", atMs } })
  }

  /** The process never got it, so it ends here and now. */
  const settleWaiting = (row: SessionRow, turnId: TurnId, { status }: CancelRequest): void => {
    const { sessionId } = row
    dropMessages({ sessionId, turnId })
    sessions.put({ ...row, turn: undefined, finishedTurn: turnId })
    const error = { code: status, message: errorTraits[status].advice }
    const generation = generationOf(row)
    emit({ type: "turn_settled", sessionId, generation, turnId, outcome: { status, error } })
  }

  const cancel = ({ sessionId, turnId }: OfTurn, { status, graceMs }: CancelRequest): void => {
    const row = sessions.get(sessionId)
    const turn = row?.turn
    if (row === undefined || turn?.data.id !== turnId)
      ignore(sessionId, "cancel_turn", "it does not run here")
    else if (turn.phase === "waiting") settleWaiting(row, turnId, { status, graceMs })
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
      const row = sessions.get(sessionId)
      if (row?.turn === undefined) return
      if (row.turn.phase === "sent") {
        cancel({ sessionId, turnId: row.turn.data.id }, { status: "interrupted", graceMs })
        return
      }
      sessions.dropMessages(sessionId)
      sessions.put({ ...row, turn: undefined })
    },
    give: (row) => {
      if (row.turn === undefined) return
      const { sessionId } = row
      sessions.put({ ...row, turn: { ...row.turn, phase: "sent", atMs: deps.clock.wallMs() } })
      push(sessionId, { type: "turn", turn: row.turn.data })
      giveMessages({ sessionId, turnId: row.turn.data.id })
    },
  }
}
