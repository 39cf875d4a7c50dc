/**
 * What a rule may read. A rule is a function of this, the request and the time, so it can be run again from the same
 * answers; the store gives it inside one transaction.
 */
import type { Content } from "@computerd/protocol/content"
import type {
  ComputerId,
  DeploymentId,
  EnvironmentKey,
  HoldId,
  SessionId,
  StoreId,
  TurnId,
} from "@computerd/protocol/ids"
import type {
  Computer,
  Deployment,
  Hold,
  Message,
  Question,
  QuestionAnswer,
  Receipt,
  Session,
  Turn,
  TurnPayload,
} from "./entities.ts"

/** One page of a list, newest first by id, below `before`. */
export interface SessionPage {
  readonly of: SessionId
  readonly relation: "owned" | "requested"
  readonly agents: readonly string[] | "all"
  readonly statuses: readonly string[]
  readonly before: string | null
  readonly limit: number
}

export interface ComputerPage {
  readonly of: Session
  readonly before: string | null
  readonly limit: number
}

export interface State {
  readonly deployment: (id: DeploymentId) => Deployment | undefined
  readonly currentDeployment: (environment: EnvironmentKey) => DeploymentId | undefined
  readonly session: (id: SessionId) => Session | undefined
  readonly sessionByKey: (environment: EnvironmentKey, key: string) => Session | undefined
  /** Children that are not closed, oldest first, at most `limit`. */
  readonly openChildren: (parent: SessionId, limit: number) => readonly Session[]
  /** Sessions that are not closed, oldest first, at most `limit`. */
  readonly openSessionsOn: (computer: ComputerId, limit: number) => readonly Session[]
  readonly turn: (id: TurnId) => Turn | undefined
  /** Queued and running Turns in order of sequence, at most `limit`. */
  readonly unsettled: (session: SessionId, limit: number) => readonly Turn[]
  /** Whether this Session enqueued any Turn into that one. */
  readonly hasRequestedTurn: (requester: SessionId, target: SessionId) => boolean
  readonly payload: (turn: TurnId) => TurnPayload | undefined
  readonly input: (turn: TurnId) => Content
  readonly hold: (id: HoldId) => Hold | undefined
  /** Own, unreleased, oldest first. */
  readonly holds: (session: SessionId) => readonly Hold[]
  readonly openQuestions: (session: SessionId) => readonly Question[]
  /** Messages of a Turn whose command is numbered after `received`, in order. */
  readonly messagesAfter: (turn: TurnId, received: number) => readonly Message[]
  /** Answers to questions of a Turn whose command is numbered after `received`, in order. */
  readonly answersAfter: (turn: TurnId, received: number) => readonly QuestionAnswer[]
  readonly receipt: (caller: string, key: string) => Receipt | undefined
  readonly computer: (id: ComputerId) => Computer | undefined
  /** Of those that are not deleted. */
  readonly computerByKey: (environment: EnvironmentKey, key: string) => Computer | undefined
  readonly cursor: (computer: ComputerId, store: StoreId) => number | undefined
  readonly sessionPage: (page: SessionPage) => readonly Session[]
  readonly computerPage: (page: ComputerPage) => readonly Computer[]
  /** Computers of the Environment that take room: wanted running, or not yet parked or gone. */
  readonly roomTaken: (environment: EnvironmentKey) => readonly Computer[]
  /** Computers of the Environment that could not be started and are tried again; they take no room until they run. */
  readonly roomRetried: (environment: EnvironmentKey) => readonly Computer[]
  /** Computers that wait for room, longest first, at most `limit`. */
  readonly waitingForRoom: (environment: EnvironmentKey, limit: number) => readonly Computer[]
}

export const everything = Number.MAX_SAFE_INTEGER
