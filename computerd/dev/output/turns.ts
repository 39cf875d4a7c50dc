/** Shows what Turns write, and keeps what one of them wrote for whoever asks for the whole Turn. */
import type { SessionId, TurnId } from "@computerd/protocol/ids"
import { outcomeMaxBytes } from "@computerd/protocol/limits"
import { createPieces, type Pieces } from "../../view/pieces.ts"
import type { View } from "../../view/view.ts"
import type { Fleet } from "../view/fleet.ts"

export interface TurnOutput {
  readonly text: string
  /** There was more than is kept. */
  readonly truncated: boolean
}

export interface ShownTurns {
  /** From now on. */
  readonly keep: (turnId: TurnId) => void
  readonly kept: () => TurnOutput
  readonly close: () => void
}

/** As much as a result or a response may hold. */
const keptMaxLength = outcomeMaxBytes

export const showTurns = (fleet: Pick<Fleet, "onEvent">, view: Pick<View, "output">): ShownTurns => {
  const agents = new Map<SessionId, string>()
  const open = new Map<TurnId, Pieces>()
  let keeping: TurnId | undefined
  let kept: TurnOutput = { text: "", truncated: false }

  const show = (sessionId: SessionId, lines: readonly string[]): void => {
    for (const line of lines) view.output(agents.get(sessionId) ?? sessionId, line)
  }
  const add = (text: string): void => {
    if (kept.truncated) return
    const whole = `${kept.text}${text}`
    kept = { text: whole.slice(0, keptMaxLength), truncated: whole.length > keptMaxLength }
  }
  const wrote = (sessionId: SessionId, turnId: TurnId, text: string): void => {
    const pieces = open.get(turnId) ?? createPieces()
    open.set(turnId, pieces)
    show(sessionId, pieces.add(text))
    if (turnId === keeping) add(text)
  }
  const forget = fleet.onEvent((event) => {
    if (event.type === "session_changed") agents.set(event.sessionId, event.agent)
    if (event.type === "turn_output") wrote(event.sessionId, event.turnId, event.text)
    if (event.type !== "turn_changed") return
    if (event.status === "queued" || event.status === "running") return
    show(event.sessionId, open.get(event.turnId)?.rest() ?? [])
    open.delete(event.turnId)
  })
  return {
    keep: (turnId) => {
      keeping = turnId
    },
    kept: () => kept,
    close: forget,
  }
}
