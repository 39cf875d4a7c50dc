/** One admitted input, as its handler sees it. */
import type { Json } from "@computerd/protocol/content"

export type { Json }

export interface TextPart {
  readonly type: "text"
  readonly text: string
}

/** Text in parts; `[]` is valid. Where an author writes content, a string stands for one part. */
export type Content = readonly TextPart[]

export type TurnSource =
  | { readonly kind: "client" }
  | {
      readonly kind: "session"
      readonly requesterSessionId: string
      /** The Turn that was running in the requester when it asked. */
      readonly originTurnId?: string | undefined
    }

/** Text that was sent to this Turn while it runs. */
export interface TurnMessage {
  readonly id: string
  readonly content: Content
}

export interface TurnOutput {
  /**
   * Appends to the Turn's output. Resolves when the text is on its way; awaiting it keeps a fast writer from running
   * ahead of its readers. Rejects with `turn_settled` after the Turn has ended.
   */
  write(text: string): Promise<void>
}

export interface Turn {
  readonly id: string
  /** Position in the Session, from 1. */
  readonly sequence: number
  /** RFC 3339, UTC. */
  readonly createdAt: string
  readonly input: Content
  readonly source: TurnSource
  /** Aborted when the Turn is interrupted or cancelled, and when the process is asked to end. */
  readonly signal: AbortSignal
  readonly output: TurnOutput
  /** Runs when `signal` aborts, at once when it already has. The Turn settles after these have ended too. */
  onCancel(listener: () => void | Promise<void>): void
  /** Receives messages in order, those that came earlier first. A later listener replaces an earlier one. */
  onMessage(listener: (message: TurnMessage) => void | Promise<void>): void
  /** The Turn's answer for people. Once: a second call rejects with `already_responded`. */
  respond(content: string | Content): Promise<void>
  /** Asks a person and waits for the answer. Rejects with `root_session_required` in a child. */
  ask(question: string | Content): Promise<Content>
}
