/** States for rules: rows in arrays, read the way that `store/` reads its tables. */

import { defaultSettings } from "@computerd/control-plane/receiver/settings"
import type { Computer, Hold, Session, Turn } from "@computerd/control-plane/rules/entities"
import type { Given } from "@computerd/control-plane/rules/given"
import type { State } from "@computerd/control-plane/rules/state"
import { ComputerId, DefinitionKey, DeploymentId, HoldId, SessionId, TurnId } from "@computerd/protocol/ids"
import { agentOf, countingIds, environment, manifestOf } from "../rig.ts"

const uuid = (number: number): string => `01900000-0000-7000-8000-${number.toString(16).padStart(12, "0")}`
const sessionId = (number: number): SessionId => SessionId.parse(`ses_${uuid(number)}`)
const turnId = (number: number): TurnId => TurnId.parse(`trn_${uuid(number)}`)
const computerId = (number: number): ComputerId => ComputerId.parse(`cmp_${uuid(number)}`)
const holdId = (number: number): HoldId => HoldId.parse(`hld_${uuid(number)}`)
const deploymentId = DeploymentId.parse(`dep_${uuid(1)}`)

export const session = (number: number, changes: Partial<Session> = {}): Session => ({
  id: sessionId(number),
  environment,
  key: null,
  deploymentId,
  agent: DefinitionKey.parse("lead"),
  template: DefinitionKey.parse("basic"),
  computerId: computerId(number),
  role: "root",
  rootId: sessionId(number),
  parentId: null,
  requesterId: null,
  depth: 0,
  status: "open",
  closing: "none",
  closeAfterIdleMs: null,
  idleSince: null,
  idleDue: null,
  initialTurnId: null,
  lastSequence: 1,
  generation: 1,
  process: "ready",
  losses: 0,
  lossReason: null,
  createdAt: 0,
  closedAt: null,
  ...changes,
})

export const child = (number: number, parent: Session, changes: Partial<Session> = {}): Session =>
  session(number, {
    role: "child",
    parentId: parent.id,
    requesterId: parent.id,
    rootId: parent.rootId,
    ...changes,
  })

export const turn = (number: number, of: Session, changes: Partial<Turn> = {}): Turn => ({
  id: turnId(number),
  sessionId: of.id,
  sequence: number,
  status: "queued",
  dispatched: false,
  stop: null,
  requesterId: null,
  originTurnId: null,
  createdAt: 0,
  startedAt: null,
  settledAt: null,
  error: null,
  payloadExpiredAt: null,
  ...changes,
})

export const computer = (number: number, changes: Partial<Computer> = {}): Computer => ({
  id: computerId(number),
  environment,
  deploymentId,
  template: DefinitionKey.parse("basic"),
  key: null,
  status: "available",
  residency: "running",
  desired: "running",
  error: null,
  deleteAfterUnusedMs: null,
  unusedSince: null,
  wantedSince: null,
  parkableSince: null,
  epoch: 1,
  leaseUntil: 1_000_000,
  storeId: null,
  bootId: null,
  attached: true,
  commandSeq: 0,
  commandAck: 0,
  createdAt: 0,
  updatedAt: 0,
  ...changes,
})

export const hold = (number: number, on: Session, changes: Partial<Hold> = {}): Hold => ({
  id: holdId(number),
  sessionId: on.id,
  kind: "interrupt",
  placedBy: null,
  gap: null,
  createdAt: 0,
  releasedAt: null,
  ...changes,
})

export interface Rows {
  readonly sessions?: readonly Session[]
  readonly turns?: readonly Turn[]
  readonly computers?: readonly Computer[]
  readonly holds?: readonly Hold[]
}

const isUnsettled = (one: Turn): boolean => one.status === "queued" || one.status === "running"
const physical: readonly string[] = ["starting", "running", "restoring", "parking"]

export const stateOf = ({ sessions = [], turns = [], computers = [], holds = [] }: Rows): State => ({
  deployment: () => ({
    id: deploymentId,
    environment,
    manifest: manifestOf([agentOf("lead")]),
    createdAt: 0,
  }),
  currentDeployment: () => deploymentId,
  session: (id) => sessions.find((one) => one.id === id),
  sessionByKey: () => undefined,
  openChildren: (parent, limit) =>
    sessions.filter((one) => one.parentId === parent && one.status !== "closed").slice(0, limit),
  openSessionsOn: (on, limit) =>
    sessions.filter((one) => one.computerId === on && one.status !== "closed").slice(0, limit),
  turn: (id) => turns.find((one) => one.id === id),
  unsettled: (of, limit) => turns.filter((one) => one.sessionId === of && isUnsettled(one)).slice(0, limit),
  hasRequestedTurn: () => false,
  payload: () => undefined,
  input: () => [],
  hold: (id) => holds.find((one) => one.id === id),
  holds: (of) => holds.filter((one) => one.sessionId === of && one.releasedAt === null),
  openQuestions: () => [],
  messagesAfter: () => [],
  receipt: () => undefined,
  computer: (id) => computers.find((one) => one.id === id),
  computerByKey: () => undefined,
  answersAfter: () => [],
  cursor: () => undefined,
  sessionPage: () => [],
  computerPage: () => [],
  roomTaken: () =>
    computers.filter(
      (one) =>
        physical.includes(one.residency) || (one.desired === "running" && one.residency !== "unavailable"),
    ),
  roomRetried: () => computers.filter((one) => one.desired === "running" && one.residency === "unavailable"),
  waitingForRoom: (_, limit) =>
    computers
      .filter((one) => one.wantedSince !== null)
      .sort((left, right) => (left.wantedSince ?? 0) - (right.wantedSince ?? 0))
      .slice(0, limit),
})

export const given = (
  changes: Partial<Given> & { readonly runningComputersMax?: number | null } = {},
): Given => {
  const { runningComputersMax = null, ...rest } = changes
  return {
    now: 1_000,
    newId: countingIds(),
    settings: {
      ...defaultSettings,
      environments: () => ({ delegationDepthMax: 8, runningComputersMax }),
    },
    digest: (text) => `digest of ${text}`,
    seal: (text) => Buffer.from(`sealed ${text}`).toString("base64url"),
    isSealOf: (text, seal) => Buffer.from(`sealed ${text}`).toString("base64url") === seal,
    ...rest,
  }
}
