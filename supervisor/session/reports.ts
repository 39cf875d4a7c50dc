/**
 * What a Session process says over its channel, turned into stored facts and events for the control plane. Runs
 * inside the transaction that moves the channel's cursor; effects wait for its commit.
 */
import type { ChannelUp } from "@computerd/protocol/channel"
import type { SessionId, TurnId } from "@computerd/protocol/ids"
import type { LinkEvent } from "@computerd/protocol/link"
import type { Journal } from "../journal.ts"
import type { ProcessIdentity } from "../process/identity.ts"
import type { ProcessEvent } from "../process/machine.ts"
import type { Store } from "../store/open.ts"
import type { ConnectionRequest } from "./frames.ts"

export interface ReportsDeps {
  readonly journal: Journal
  readonly store: Store
  readonly emit: (event: LinkEvent) => void
  /** After the commit. */
  readonly tell: (process: ProcessIdentity, event: ProcessEvent) => void
  /** Takes a getter call; inside the transaction. */
  readonly connect: (process: ProcessIdentity, request: ConnectionRequest) => void
}

export type Reports = (process: ProcessIdentity, body: ChannelUp) => void

export const createReports = (deps: ReportsDeps): Reports => {
  const { store, emit } = deps
  const { sessions } = store

  const runs = (sessionId: SessionId, turnId: TurnId): boolean => {
    const turn = sessions.get(sessionId)?.turn
    return turn?.data.id === turnId && turn.phase === "sent"
  }

  /** A message can reach the process just after its Turn has settled: that it was dropped is news all the same. */
  const isOrWasTurn = (sessionId: SessionId, turnId: TurnId): boolean =>
    runs(sessionId, turnId) || sessions.get(sessionId)?.finishedTurn === turnId

  const settle = (
    process: ProcessIdentity,
    { turnId, outcome }: Extract<ChannelUp, { readonly type: "turn_settled" }>,
  ): void => {
    const row = sessions.get(process.sessionId)
    if (row === undefined) return
    // Work that was done is what ends a series of losses.
    sessions.put({ ...row, turn: row.next, next: undefined, finishedTurn: turnId, recovery: undefined })
    sessions.dropMessages(process.sessionId)
    emit({ type: "turn_settled", ...process, turnId, outcome })
    store.afterCommit(() => deps.tell(process, { kind: "turn_ended", turnId }))
  }

  const ofTurn = (process: ProcessIdentity, body: Extract<ChannelUp, { readonly turnId: TurnId }>): void => {
    const { turnId } = body
    const isNews = body.type === "messages_dropped" ? isOrWasTurn : runs
    if (!isNews(process.sessionId, turnId)) {
      deps.journal.record({
        event: "channel_frame_ignored",
        ...process,
        type: body.type,
        why: "its Turn does not run",
      })
      return
    }
    switch (body.type) {
      case "turn_started":
        emit({ type: "turn_started", ...process, turnId })
        break
      case "turn_output":
        emit({ type: "turn_output", ...process, turnId, text: body.text })
        break
      case "messages_dropped":
        emit({
          type: "messages_dropped",
          sessionId: process.sessionId,
          turnId,
          messageIds: body.messageIds,
        })
        break
      case "turn_settled":
        settle(process, body)
        break
      case "ask":
        emit({ type: "question", ...process, turnId, requestId: body.requestId, question: body.question })
        break
      default:
        body satisfies never
    }
  }

  /** The reason is on record with the frame: who sees the process end may be another supervisor. */
  const failed = (process: ProcessIdentity, phase: "load" | "init", message: string): void => {
    store.processes.setStop(process.sessionId, { cause: { kind: `${phase}_failed`, message }, graceMs: 0 })
    store.afterCommit(() => deps.tell(process, { kind: "failed", phase, message }))
  }

  return (process, body) => {
    switch (body.type) {
      case "ready":
        store.processes.setReady(process.sessionId)
        emit({ type: "process_ready", ...process })
        store.afterCommit(() => deps.tell(process, { kind: "ready" }))
        break
      case "failed":
        failed(process, body.phase, body.error.message)
        break
      case "mcp_connection":
        deps.connect(process, {
          requestId: body.requestId,
          policy: "policy" in body ? { given: true, value: body.policy } : { given: false },
        })
        break
      default:
        ofTurn(process, body)
    }
  }
}
