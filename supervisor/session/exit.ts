/**
 * The end of a Session process, as one stored fact: the reason outlives the process row, the Turn that ran is over,
 * and a Session that was to end with its process is forgotten. Runs inside a transaction.
 *
 * EX1 the Turn that the process had been given ends with it and is never given again
 * EX2 a Turn that it had not been given goes back: the control plane, which hears of the exit, may dispatch it again
 * EX3 what follows a loss is decided here, stored with it and told with it
 */
import type { TurnId } from "@computerd/protocol/ids"
import type { ExitReason, LinkEvent } from "@computerd/protocol/link"
import type { Journal } from "../journal.ts"
import type { Ports } from "../ports.ts"
import type { ProcessIdentity } from "../process/identity.ts"
import { afterLoss, type Loss, type Sequel } from "../process/loss.ts"
import { holding } from "../process/machine.ts"
import type { Store } from "../store/open.ts"
import type { SessionRow } from "../store/sessions.ts"

export interface ExitRecord {
  readonly identity: ProcessIdentity
  readonly reason: ExitReason
  readonly blame: Loss["blame"]
  readonly turnId: TurnId | undefined
  readonly expected: boolean
}

export interface MessageDeps {
  readonly store: Store
  readonly emit: (event: LinkEvent) => void
}

export interface ExitDeps extends MessageDeps {
  readonly ports: Pick<Ports, "clock" | "random">
  readonly journal: Journal
}

/** Nothing of a Turn is dropped silently: the control plane hears of messages that nobody will take. */
export const dropMessages = ({ store, emit }: MessageDeps, { sessionId, turn }: SessionRow): void => {
  if (turn === undefined) return
  const messageIds = store.sessions.takeMessages(sessionId).map((message) => message.messageId)
  store.sessions.dropMessages(sessionId)
  if (messageIds.length > 0) emit({ type: "messages_dropped", sessionId, turnId: turn.data.id, messageIds })
}

/** EX3; `undefined`: nothing was lost, or nothing is to come. */
const sequelOf = ({ ports }: ExitDeps, row: SessionRow, exit: ExitRecord): Sequel | undefined => {
  if (exit.expected || row.ending !== undefined) return undefined
  return afterLoss({
    reason: exit.reason,
    blame: exit.blame,
    turn: exit.turnId === undefined ? "none" : "lost",
    session: holding(row.assignment.holds).kind,
    earlier: row.recovery?.losses ?? [],
    atMs: ports.clock.wallMs(),
    random: ports.random(),
  })
}

const noteLoss = (journal: Journal, { identity }: ExitRecord, sequel: Sequel): void => {
  const { name, next, delayMs, losses } = sequel
  journal.record({ event: "process_lost", ...identity, name, next, delayMs, losses: losses.length })
}

const isWanted = (row: SessionRow, exit: ExitRecord, sequel: Sequel | undefined): boolean => {
  if (row.ending !== undefined) return false
  // After an end on purpose the Session still wants a process: a drop was taken back, or this supervisor stops.
  return sequel === undefined ? exit.expected && row.wanted : sequel.next !== "hold"
}

const recoveryOf = (row: SessionRow, sequel: Sequel | undefined): SessionRow["recovery"] => {
  if (sequel === undefined) return row.recovery
  const { losses, delayMs } = sequel
  return losses.length === 0 ? undefined : { losses: [...losses], delayMs }
}

export const recordExit = (deps: ExitDeps, exit: ExitRecord): void => {
  const { store, emit, journal } = deps
  const { identity, reason, turnId, expected } = exit
  store.processes.remove(identity)
  const row = store.sessions.get(identity.sessionId)
  const sequel = row && sequelOf(deps, row, exit)
  if (row !== undefined) {
    dropMessages(deps, row)
    store.sessions.put({
      ...row,
      turn: undefined,
      next: undefined,
      wanted: isWanted(row, exit, sequel),
      finishedTurn: turnId ?? row.finishedTurn,
      lastExit: reason,
      recovery: recoveryOf(row, sequel),
    })
  }
  emit({
    type: "process_exited",
    ...identity,
    reason,
    ...(turnId === undefined ? {} : { turnId }),
    expected,
    ...(sequel === undefined ? {} : { next: sequel.next }),
  })
  if (sequel !== undefined) store.afterCommit(() => noteLoss(journal, exit, sequel))
}

/** The Session has no process any more and is not to have one. */
export const forgetSession = (
  { store, emit }: MessageDeps,
  sessionId: ProcessIdentity["sessionId"],
): void => {
  const row = store.sessions.get(sessionId)
  if (row === undefined) return
  store.sessions.remove(sessionId)
  if (row.ending?.kind === "released") emit({ type: "released", sessionId })
}
