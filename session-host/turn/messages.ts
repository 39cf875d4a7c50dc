/** Messages to one Turn: kept in order until its handler listens, handed over at once from then on. */
import type { MessageId } from "@computerd/protocol/ids"
import type { TurnMessage } from "@helmr/sdk"

/** JSON bytes kept for a handler that does not listen; what comes on top is reported as dropped. */
const keptMaxBytes = 8 * 1_048_576

export interface Message extends TurnMessage {
  readonly id: MessageId
}

export type Listener = (message: TurnMessage) => void

export interface Inbox {
  /** False when there is no room for it. */
  readonly deliver: (message: Message) => boolean
  readonly listen: (listener: Listener) => void
  /** Ends the inbox: the ids that nobody took. */
  readonly close: () => readonly MessageId[]
}

export const createInbox = (): Inbox => {
  let listener: Listener | undefined
  let kept: Message[] = []
  let bytes = 0
  return {
    deliver: (message) => {
      if (listener !== undefined) {
        listener(message)
        return true
      }
      bytes += JSON.stringify(message).length
      if (bytes > keptMaxBytes) return false
      kept.push(message)
      return true
    },
    listen: (next) => {
      listener = next
      const waiting = kept
      kept = []
      bytes = 0
      for (const message of waiting) next(message)
    },
    close: () => {
      const left = kept.map((message) => message.id)
      kept = []
      return left
    },
  }
}
