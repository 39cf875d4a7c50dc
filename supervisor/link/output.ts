/**
 * Output on its way into the outbox. It is the first to be refused when the control plane is out of reach for long.
 *
 * O2 refused output leaves a mark in the Turn's output that says how much is missing
 */
import { utf8Bytes } from "@computerd/protocol/content"
import type { TurnId } from "@computerd/protocol/ids"
import type { LinkEvent } from "@computerd/protocol/link"
import type { Journal } from "../journal.ts"

export type OutputEvent = Extract<LinkEvent, { readonly type: "turn_output" }>

export interface Output {
  readonly push: (event: OutputEvent) => void
  /** Call it before an event that ends a Turn is appended. */
  readonly ending: (event: LinkEvent) => void
}

export interface OutputDeps {
  readonly journal: Journal
  readonly fits: (bytes: number) => boolean
  readonly append: (event: OutputEvent) => void
}

const turnEnding = (event: LinkEvent): TurnId | undefined =>
  event.type === "turn_settled" || event.type === "process_exited" ? event.turnId : undefined

export const createOutput = ({ journal, fits, append }: OutputDeps): Output => {
  const missingBytes = new Map<TurnId, number>()

  const mark = (event: OutputEvent, bytes: number): void =>
    append({
      ...event,
      text: `\n[${bytes} bytes of output were dropped: there was no room to keep them]\n`,
    })

  return {
    push: (event) => {
      const bytes = utf8Bytes(event.text)
      const missing = missingBytes.get(event.turnId)
      if (!fits(bytes)) {
        if (missing === undefined)
          journal.record({ event: "output_refused", sessionId: event.sessionId, turnId: event.turnId })
        missingBytes.set(event.turnId, (missing ?? 0) + bytes)
        return
      }
      if (missing !== undefined) mark(event, missing)
      missingBytes.delete(event.turnId)
      append(event)
    },
    ending: (event) => {
      const turnId = turnEnding(event)
      const missing = turnId === undefined ? undefined : missingBytes.get(turnId)
      if (turnId === undefined || missing === undefined || !("generation" in event)) return
      const { sessionId, generation } = event
      mark({ type: "turn_output", sessionId, generation, turnId, text: "" }, missing)
      missingBytes.delete(turnId)
    },
  }
}
