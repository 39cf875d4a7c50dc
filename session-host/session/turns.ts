/** The Turns of one process: strictly one at a time, in the order of their arrival (H1 of `host.ts`). */
import type { ChannelUp } from "@computerd/protocol/channel"
import type { TurnId } from "@computerd/protocol/ids"
import type { Message } from "../turn/messages.ts"
import type { StopCause } from "../turn/outcome.ts"
import type { Handle, TurnRun } from "../turn/run.ts"

export interface Turns {
  readonly arrive: (turn: TurnRun) => void
  /** A Turn that has settled meanwhile needs no stop. */
  readonly stop: (turnId: TurnId, cause: StopCause) => void
  readonly deliver: (turnId: TurnId, message: Message) => void
  /** The Agent is ready: begin. */
  readonly serve: (handle: Handle) => void
  /** Stops the running Turn and begins no other; resolves when it has settled. */
  readonly end: () => Promise<void>
}

type Phase =
  | { readonly kind: "waiting" }
  | { readonly kind: "serving"; readonly handle: Handle }
  | { readonly kind: "ended" }

interface Running {
  readonly turn: TurnRun
  readonly settled: Promise<void>
}

export const createTurns = (send: (body: ChannelUp) => void): Turns => {
  const queue: TurnRun[] = []
  let running: Running | undefined
  let phase: Phase = { kind: "waiting" }

  const next = (): void => {
    if (phase.kind !== "serving" || running !== undefined) return
    const turn = queue.shift()
    if (turn === undefined) return
    running = { turn, settled: turn.start(phase.handle).finally(done) }
  }

  const done = (): void => {
    running = undefined
    next()
  }

  const find = (turnId: TurnId): TurnRun | undefined =>
    running?.turn.id === turnId ? running.turn : queue.find((turn) => turn.id === turnId)

  return {
    arrive: (turn) => {
      queue.push(turn)
      next()
    },
    stop: (turnId, cause) => find(turnId)?.stop(cause),
    deliver: (turnId, message) => {
      const turn = find(turnId)
      if (turn === undefined) send({ type: "messages_dropped", turnId, messageIds: [message.id] })
      else turn.deliver(message)
    },
    serve: (handle) => {
      if (phase.kind === "waiting") phase = { kind: "serving", handle }
      next()
    },
    end: async () => {
      phase = { kind: "ended" }
      running?.turn.stop("shutdown")
      await running?.settled
    },
  }
}
