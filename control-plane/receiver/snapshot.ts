/** The whole fleet as onlookers see it: for the live tree and status, not for deciding. */
import type { SessionId, TurnId } from "@computerd/protocol/ids"
import type { TemplateManifest } from "@computerd/protocol/manifest"
import { takesRoom } from "../rules/capacity.ts"
import { Draft } from "../rules/draft.ts"
import { type Computer, type Hold, isSettled, type Session, type Turn } from "../rules/entities.ts"
import { effectiveHolds } from "../rules/holds.ts"
import type { Store } from "../store/open.ts"
import type { ComputerRow, FleetSnapshot, HoldView, SessionView, TurnView } from "./fleet.ts"

const templateOf = (store: Store, computer: Computer): TemplateManifest | undefined =>
  store.tables.deployments
    .get(computer.deploymentId)
    ?.manifest.templates.find((template) => template.id === computer.template)

/** `undefined` when the pin cannot be read, which nothing brings about. */
const computerRow = (store: Store, computer: Computer): ComputerRow | undefined => {
  const manifest = templateOf(store, computer)
  const bundle = store.tables.deployments.get(computer.deploymentId)?.manifest.bundle
  if (manifest === undefined || bundle === undefined) return undefined
  return {
    id: computer.id,
    environment: computer.environment,
    deploymentId: computer.deploymentId,
    template: computer.template,
    manifest,
    bundle,
    status: computer.status,
    residency: computer.residency,
    desired: computer.desired,
    error: computer.error,
    attached: computer.attached,
    createdAtMs: computer.createdAt,
    updatedAtMs: computer.updatedAt,
  }
}

export const computerRows = (store: Store): readonly ComputerRow[] =>
  store.tables.computers
    .all()
    .map((computer) => computerRow(store, computer))
    .filter((row) => row !== undefined)

const holdView = (hold: Hold): HoldView => ({
  id: hold.id,
  sessionId: hold.sessionId,
  kind: hold.kind,
  createdAtMs: hold.createdAt,
  reason: hold.gap?.reason ?? null,
})

const computerWait = (computer: Computer | undefined): string | null => {
  if (computer === undefined) return "its Computer is unknown"
  if (computer.error !== null) return `its Computer is unavailable: ${computer.error}`
  if (computer.desired !== "running" && !takesRoom(computer)) return "room for its Computer"
  if (computer.residency !== "running") return `its Computer, which is ${computer.residency}`
  return computer.attached ? null : "its Computer's supervisor to attach"
}

/** The first thing that keeps a queued Turn from running, in the order in which they would have to go away. */
const waitingFor = (
  turn: Turn,
  where: {
    readonly holds: readonly HoldView[]
    readonly computer: Computer | undefined
    readonly head: Turn
  },
): string | null => {
  if (turn.status !== "queued") return null
  const hold = where.holds[0]
  if (hold !== undefined)
    return hold.reason === null ? `a hold (${hold.kind})` : `a hold (${hold.kind}: ${hold.reason})`
  if (where.head.id !== turn.id) return `Turn ${where.head.sequence}, which comes first`
  return computerWait(where.computer) ?? "its process"
}

/** Of a Turn by itself, wherever its Session stands. */
export const waitOf = (draft: Draft, session: Session, turn: Turn): string | null => {
  const head = draft.unsettled(session.id, 1)[0]
  if (head === undefined) return null
  const holds = effectiveHolds(draft, session).map(holdView)
  return waitingFor(turn, { holds, computer: draft.computer(session.computerId), head })
}

const turnView = (store: Store, turn: Turn, waiting: string | null): TurnView => {
  const payload = turn.status === "completed" ? store.tables.turns.payload(turn.id) : undefined
  return {
    id: turn.id,
    sessionId: turn.sessionId,
    sequence: turn.sequence,
    status: turn.status,
    waitingFor: waiting,
    createdAtMs: turn.createdAt,
    startedAtMs: turn.startedAt,
    settledAtMs: turn.settledAt,
    ...(payload === undefined ? {} : { result: payload.result }),
    ...(payload?.response ? { response: payload.response } : {}),
    ...(turn.error === null ? {} : { error: turn.error }),
  }
}

const sessionView = (store: Store, draft: Draft, session: Session): SessionView => {
  const holds = effectiveHolds(draft, session).map(holdView)
  const turns = store.tables.turns.ofSession(session.id)
  const head = turns.find((turn) => !isSettled(turn))
  const computer = draft.computer(session.computerId)
  return {
    id: session.id,
    environment: session.environment,
    agent: session.agent,
    deploymentId: session.deploymentId,
    computerId: session.computerId,
    role: session.role,
    key: session.key,
    parent: session.parentId,
    requester: session.requesterId,
    status: session.status,
    process: session.process,
    generation: session.generation,
    holds,
    turns: turns.map((turn) =>
      turnView(store, turn, head === undefined ? null : waitingFor(turn, { holds, computer, head })),
    ),
    createdAtMs: session.createdAt,
    idleSinceMs: session.idleSince,
    closedAtMs: session.closedAt,
  }
}

export const fleetSnapshot = (store: Store, atMs: number): FleetSnapshot => {
  const draft = new Draft(store.state)
  return {
    atMs,
    computers: computerRows(store),
    sessions: store.tables.sessions.all().map((session) => sessionView(store, draft, session)),
  }
}

export const viewTurn = (store: Store, sessionId: SessionId, turnId: TurnId): TurnView | undefined => {
  const draft = new Draft(store.state)
  const turn = draft.turn(turnId)
  const session = draft.session(sessionId)
  if (turn === undefined || session === undefined || turn.sessionId !== session.id) return undefined
  return turnView(store, turn, waitOf(draft, session, turn))
}
