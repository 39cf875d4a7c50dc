/**
 * Messages to a running Turn. One is never turned into queued work: a Turn that takes no more messages refuses it, and
 * nothing is created.
 */
import type { Content } from "@computerd/protocol/content"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { SessionId, TurnId } from "@computerd/protocol/ids"
import { type Answer, type Decide, mutation } from "./admission.ts"
import type { Draft } from "./draft.ts"
import type { Given } from "./given.ts"
import { checkGrant } from "./grant.ts"
import { isHeld } from "./holds.ts"
import { ownedTurn, type TurnTarget } from "./reach.ts"
import { hasCommandRoom } from "./room.ts"

export interface MessageArguments {
  readonly sessionId: SessionId
  readonly turnId: TurnId
  readonly message: Content
  readonly idempotencyKey: string
}

const closed = (target: TurnTarget, why: string): ReturnType<typeof fail> =>
  fail("message_closed", `Turn ${target.turn.id} takes no message: ${why}`, "turnId")

const takesMessages = (draft: Draft, target: TurnTarget): Result<void> => {
  const { turn, session } = target
  if (turn.status !== "running") return closed(target, `it is ${turn.status}`)
  if (turn.stop !== null) return closed(target, "it was asked to stop")
  if (isHeld(draft, session)) return closed(target, "its Session is held")
  return hasCommandRoom(draft.computer(session.computerId))
}

export const deliver = (
  draft: Draft,
  sent: { readonly target: TurnTarget; readonly content: Content },
  given: Given,
): Result<Answer> => {
  const { target, content } = sent
  const open = takesMessages(draft, target)
  if (!open.ok) return open
  const { session, turn } = target
  const id = given.newId("msg")
  const commandSeq = draft.command(session.computerId, {
    type: "message",
    sessionId: session.id,
    turnId: turn.id,
    message: { messageId: id, content: [...content] },
  })
  draft.addMessage({
    id,
    sessionId: session.id,
    turnId: turn.id,
    content,
    commandSeq,
    createdAt: given.now,
  })
  return ok({ id, turnId: turn.id })
}

export const sendTurn: Decide<MessageArguments> = mutation<MessageArguments, TurnTarget>("send_turn", {
  resolve: ({ draft, caller, arguments: asked }) => ownedTurn(draft, caller, asked),
  allowed: ({ caller }, target) =>
    checkGrant(caller, { operation: "send_turn", agent: target.session.agent }),
  effect: ({ draft, arguments: asked, given }, target) =>
    deliver(draft, { target, content: asked.message }, given),
})
