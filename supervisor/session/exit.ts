/**
 * The end of a Session process, as one stored fact: the reason outlives the process row, the Turn that ran is over,
 * and a Session that was to end with its process is forgotten. Runs inside a transaction.
 *
 * EX1 the Turn that the process had been given ends with it and is never given again
 * EX2 a Turn that it had not been given goes back: the control plane, which hears of the exit, may dispatch it again
 */
import type { TurnId } from "@computerd/protocol/ids"
import type { ExitReason, LinkEvent } from "@computerd/protocol/link"
import type { ProcessIdentity } from "../process/identity.ts"
import type { Store } from "../store/open.ts"
import type { SessionRow } from "../store/sessions.ts"

export interface ExitRecord {
  readonly identity: ProcessIdentity
  readonly reason: ExitReason
  readonly turnId: TurnId | undefined
  readonly expected: boolean
}

export interface ExitDeps {
  readonly store: Store
  readonly emit: (event: LinkEvent) => void
}

/** Nothing of a Turn is dropped silently: the control plane hears of messages that nobody will take. */
export const dropMessages = ({ store, emit }: ExitDeps, { sessionId, turn }: SessionRow): void => {
  if (turn === undefined) return
  const messageIds = store.sessions.takeMessages(sessionId).map((message) => message.messageId)
  store.sessions.dropMessages(sessionId)
  if (messageIds.length > 0) emit({ type: "messages_dropped", sessionId, turnId: turn.data.id, messageIds })
}

export const recordExit = ({ store, emit }: ExitDeps, exit: ExitRecord): void => {
  const { identity, reason, turnId, expected } = exit
  store.processes.remove(identity)
  const row = store.sessions.get(identity.sessionId)
  if (row !== undefined) {
    dropMessages({ store, emit }, row)
    store.sessions.put({
      ...row,
      turn: undefined,
      next: undefined,
      // After an end on purpose the Session still wants a process: a drop was taken back, or this supervisor stops.
      wanted: expected && row.ending === undefined && row.wanted,
      finishedTurn: turnId ?? row.finishedTurn,
      lastExit: reason,
    })
  }
  emit({
    type: "process_exited",
    ...identity,
    reason,
    ...(turnId === undefined ? {} : { turnId }),
    expected,
  })
}

/** The Session has no process any more and is not to have one. */
export const forgetSession = ({ store, emit }: ExitDeps, sessionId: ProcessIdentity["sessionId"]): void => {
  const row = store.sessions.get(sessionId)
  if (row === undefined) return
  store.sessions.remove(sessionId)
  if (row.ending?.kind === "released") emit({ type: "released", sessionId })
}
