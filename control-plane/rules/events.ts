/**
 * What a supervisor reports.
 *
 * E1 each event is applied once, in order, by its number within the supervisor's store
 * E2 an event of an older generation, or about what is over, changes nothing; the journal says so
 */
import { failure } from "@computerd/protocol/errors"
import { exitText } from "@computerd/protocol/exit"
import type { LinkEvent } from "@computerd/protocol/link"
import type { Draft } from "./draft.ts"
import type { Session, Turn } from "./entities.ts"
import type { Given } from "./given.ts"
import { effectiveHolds } from "./holds.ts"
import { loseProcess } from "./loss.ts"
import { requestStop, settle } from "./settle.ts"

/** Why an event changed nothing; `undefined` when it was applied. */
export type Ignored = string | undefined

type Event<Type extends LinkEvent["type"]> = Extract<LinkEvent, { readonly type: Type }>

const turnOf = (draft: Draft, session: Session, event: { readonly turnId: Turn["id"] }): Turn | undefined => {
  const turn = draft.turn(event.turnId)
  return turn?.sessionId === session.id ? turn : undefined
}

const starting = (draft: Draft, session: Session, event: Event<"process_starting">): Ignored => {
  if (event.generation <= session.generation) return "an equal or newer generation is known"
  draft.putSession({ ...session, generation: event.generation, process: "starting" })
  return undefined
}

const ready = (draft: Draft, session: Session, event: Event<"process_ready">): Ignored => {
  if (event.generation !== session.generation) return "another generation is current"
  draft.putSession({ ...session, process: "ready" })
  return undefined
}

const exited = (draft: Draft, session: Session, event: Event<"process_exited">, given: Given): Ignored => {
  if (event.generation !== session.generation) return "another generation is current"
  const named = event.turnId === undefined ? undefined : draft.turn(event.turnId)
  const turn = named?.sessionId === session.id ? named : undefined
  loseProcess(
    draft,
    {
      session,
      turn,
      reason: exitText(event.reason),
      stopTimeout: event.reason.kind === "stop_timeout",
      expected: event.expected,
      ...(event.next === undefined ? {} : { next: event.next }),
    },
    given,
  )
  return undefined
}

/** A stop that was decided while the Turn was on its way reaches it now. */
const stopIfUnwanted = (draft: Draft, session: Session, turn: Turn, given: Given): void => {
  if (session.closing === "cancel") requestStop(draft, turn, "cancelled", given)
  else if (effectiveHolds(draft, session).some((hold) => hold.kind === "interrupt"))
    requestStop(draft, turn, "interrupted", given)
}

const started = (draft: Draft, session: Session, event: Event<"turn_started">, given: Given): Ignored => {
  if (event.generation !== session.generation) return "another generation is current"
  const turn = turnOf(draft, session, event)
  if (turn === undefined || turn.status !== "queued") return "the Turn does not wait to start"
  const head = draft.unsettled(session.id, 1)[0]
  if (head?.id !== turn.id) return "another Turn of the Session comes first"
  const running: Turn = { ...turn, status: "running", dispatched: false, startedAt: given.now }
  draft.putTurn(running)
  stopIfUnwanted(draft, session, running, given)
  return undefined
}

const settled = (draft: Draft, session: Session, event: Event<"turn_settled">, given: Given): Ignored => {
  const turn = turnOf(draft, session, event)
  if (turn === undefined) return "the Turn is unknown"
  if (event.generation !== session.generation) return "another generation is current"
  if (!settle(draft, turn, event.outcome, given)) return "the Turn has settled before"
  if (session.losses > 0) draft.putSession({ ...session, losses: 0 })
  return undefined
}

const output = (draft: Draft, session: Session, event: Event<"turn_output">): Ignored => {
  const turn = turnOf(draft, session, event)
  if (turn === undefined || event.generation !== session.generation) return "the Turn does not run"
  draft.notice({ type: "turn_output", turn, text: event.text })
  return undefined
}

const dropped = (draft: Draft, session: Session, event: Event<"messages_dropped">): Ignored => {
  const turn = turnOf(draft, session, event)
  if (turn === undefined) return "the Turn is unknown"
  draft.notice({ type: "messages_dropped", turn, messages: event.messageIds })
  return undefined
}

/** Children ask nobody; a Session that ends will not be answered. */
const question = (draft: Draft, session: Session, event: Event<"question">, given: Given): Ignored => {
  const turn = turnOf(draft, session, event)
  if (turn?.status !== "running" || event.generation !== session.generation) return "the Turn does not run"
  const refuse = (code: "root_session_required" | "cancelled", message: string): void => {
    draft.command(session.computerId, {
      type: "answer",
      sessionId: session.id,
      turnId: turn.id,
      requestId: event.requestId,
      result: { ok: false, error: failure(code, message) },
    })
  }
  if (session.role === "child")
    refuse("root_session_required", "a child Session asks nobody; report the need to its owner")
  else if (session.status !== "open") refuse("cancelled", "the Session is closing; nobody will answer")
  else
    draft.addQuestion(
      {
        id: given.newId("qst"),
        sessionId: session.id,
        turnId: turn.id,
        requestId: event.requestId,
        status: "open",
        createdAt: given.now,
      },
      event.question,
    )
  return undefined
}

/** What a released process says last. */
const isFarewell = (event: LinkEvent): boolean =>
  event.type === "released" || (event.type === "process_exited" && event.expected)

export const applyEvent = (draft: Draft, session: Session, event: LinkEvent, given: Given): Ignored => {
  if (session.status === "closed") return isFarewell(event) ? undefined : "the Session is closed"
  switch (event.type) {
    case "process_starting":
      return starting(draft, session, event)
    case "process_ready":
      return ready(draft, session, event)
    case "process_exited":
      return exited(draft, session, event, given)
    case "turn_started":
      return started(draft, session, event, given)
    case "turn_output":
      return output(draft, session, event)
    case "turn_settled":
      return settled(draft, session, event, given)
    case "messages_dropped":
      return dropped(draft, session, event)
    case "question":
      return question(draft, session, event, given)
    case "released":
      return "the Session is not closed here"
  }
}
