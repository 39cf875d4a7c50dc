/** What happened in a Session, as its readers see it. */

import type { TurnSource } from "../../turn.ts"
import type { Outcome } from "../turns.ts"

export type HoldKind = "interrupt" | "recovery" | "storage_pressure"

interface TurnEvent<Type extends string> {
  readonly type: Type
  readonly turnId: string
}

interface ProcessEvent<Type extends string> {
  readonly type: Type
  readonly generation: number
}

interface HoldEvent<Type extends string> {
  readonly type: Type
  readonly holdId: string
  readonly kind: HoldKind
}

interface QuestionEvent<Type extends string> extends TurnEvent<Type> {
  readonly questionId: string
}

interface SessionCreated {
  readonly type: "session_created"
  readonly agent: string
  readonly deploymentId: string
  readonly computerId: string
  readonly parentSessionId: string | null
  readonly requesterSessionId: string | null
}

interface TurnQueued extends TurnEvent<"turn_queued"> {
  /** Of the Turn in its Session, from 1. */
  readonly turnSequence: number
  readonly source: TurnSource
}

interface TurnSettled extends TurnEvent<"turn_settled"> {
  readonly status: Outcome["status"]
  readonly errorCode: string | null
}

export type EventBody =
  | SessionCreated
  | { readonly type: "session_closing"; readonly mode: "close" | "cancel" }
  /** The last one of its Session. */
  | { readonly type: "session_closed" }
  | ProcessEvent<"process_starting">
  | ProcessEvent<"process_ready">
  | (ProcessEvent<"process_exited"> & { readonly reason: string | null })
  | TurnQueued
  | TurnEvent<"turn_started">
  | TurnSettled
  | (TurnEvent<"turn_output"> & { readonly text: string })
  /** The Turn wrote more than is kept; the rest of its output is not. */
  | (TurnEvent<"turn_output_truncated"> & { readonly keptBytes: number })
  | (HoldEvent<"hold_placed"> & { readonly reason: string | null })
  | HoldEvent<"hold_released">
  | (TurnEvent<"message_accepted"> & { readonly messageId: string })
  /** The Turn settled without having taken them. */
  | (TurnEvent<"messages_dropped"> & { readonly messageIds: readonly string[] })
  | QuestionEvent<"question_asked">
  | QuestionEvent<"question_answered">
  | QuestionEvent<"question_cancelled">

export interface EventPlace {
  /** What `after` takes, for every reader of the same Session or tree and at any later time. */
  readonly cursor: string
  /** Grows along a Session and along its whole tree; a gap is no loss. */
  readonly sequence: number
  readonly sessionId: string
  /** RFC 3339, UTC. */
  readonly at: string
}

export type SessionEvent = EventPlace & EventBody

export interface EventPage {
  readonly events: readonly SessionEvent[]
  /** Where the next page begins, also when this one is empty; absent before the first event. */
  readonly nextCursor?: string | undefined
  /** Whether more was there already when the page was read. */
  readonly more: boolean
}
