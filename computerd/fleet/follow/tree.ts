/** What a tree of Sessions looks like after the events that were seen. Pure: events in, a picture out. */
import type { HoldKind, Outcome, SessionEvent, SessionStatus } from "@helmr/sdk"
import type { ProcessState } from "../../view/text.ts"

export interface SeenTurn {
  readonly id: string
  readonly sequence: number
  readonly status: "queued" | "running" | Outcome["status"]
  readonly errorCode: string | null
  readonly queuedAtMs: number
  readonly startedAtMs: number | null
  readonly settledAtMs: number | null
}

export interface SeenSession {
  readonly id: string
  /** `null`: its beginning was not seen. */
  readonly agent: string | null
  readonly parentId: string | null
  readonly status: SessionStatus
  readonly process: ProcessState
  /** Own ones; the inherited ones stand at the ancestor. */
  readonly holds: ReadonlyMap<string, HoldKind>
  readonly questions: ReadonlySet<string>
  /** The newest ones, oldest first. */
  readonly turns: readonly SeenTurn[]
}

/** In the order in which they appeared. */
export type Tree = ReadonlyMap<string, SeenSession>

export const emptyTree: Tree = new Map()

/** A Session that is given work for weeks has more than anybody looks at. */
const turnsMax = 50

const unseen = (id: string): SeenSession => ({
  id,
  agent: null,
  parentId: null,
  status: "open",
  process: "none",
  holds: new Map(),
  questions: new Set(),
  turns: [],
})

const withTurn = (session: SeenSession, id: string, change: (turn: SeenTurn) => SeenTurn): SeenSession => ({
  ...session,
  turns: session.turns.map((turn) => (turn.id === id ? change(turn) : turn)),
})

const without = (questions: ReadonlySet<string>, id: string): ReadonlySet<string> =>
  new Set([...questions].filter((one) => one !== id))

const sessionAfter = (session: SeenSession, event: SessionEvent): SeenSession => {
  const atMs = Date.parse(event.at)
  switch (event.type) {
    case "session_created":
      return { ...session, agent: event.agent, parentId: event.parentSessionId }
    case "session_closing":
      return { ...session, status: "closing" }
    case "session_closed":
      return { ...session, status: "closed", process: "none" }
    case "process_starting":
      return { ...session, process: "starting" }
    case "process_ready":
      return { ...session, process: "ready" }
    case "process_exited":
      return { ...session, process: "none" }
    case "turn_queued": {
      const { turnId: id, turnSequence: sequence } = event
      const turn = { id, sequence, status: "queued", errorCode: null, queuedAtMs: atMs } as const
      const turns = [...session.turns, { ...turn, startedAtMs: null, settledAtMs: null }]
      return { ...session, turns: turns.slice(-turnsMax) }
    }
    case "turn_started":
      return withTurn(session, event.turnId, (turn) => ({ ...turn, status: "running", startedAtMs: atMs }))
    case "turn_settled": {
      const { status, errorCode } = event
      return withTurn(session, event.turnId, (turn) => ({ ...turn, status, errorCode, settledAtMs: atMs }))
    }
    case "hold_placed":
      return { ...session, holds: new Map([...session.holds, [event.holdId, event.kind]]) }
    case "hold_released":
      return { ...session, holds: new Map([...session.holds].filter(([id]) => id !== event.holdId)) }
    case "question_asked":
      return { ...session, questions: new Set([...session.questions, event.questionId]) }
    case "question_answered":
    case "question_cancelled":
      return { ...session, questions: without(session.questions, event.questionId) }
    case "turn_output":
    case "turn_output_truncated":
    case "message_accepted":
    case "messages_dropped":
      return session
  }
}

export const treeAfter = (tree: Tree, event: SessionEvent): Tree => {
  const before = tree.get(event.sessionId) ?? unseen(event.sessionId)
  const after = sessionAfter(before, event)
  return tree.has(event.sessionId) && after === before ? tree : new Map(tree).set(event.sessionId, after)
}
