/** Another Turn for an existing Session. Holds stay in force: the Turn is admitted and waits. */
import type { Content } from "@computerd/protocol/content"
import { ok } from "@computerd/protocol/errors"
import type { SessionId } from "@computerd/protocol/ids"
import { type Answer, type Decide, mutation } from "./admission.ts"
import type { Draft } from "./draft.ts"
import type { Session } from "./entities.ts"
import type { Given } from "./given.ts"
import { checkGrant } from "./grant.ts"
import { newTurn, runningTurn } from "./making.ts"
import { enqueueTarget, openForEnqueue } from "./reach.ts"

export interface EnqueueArguments {
  readonly sessionId: SessionId
  readonly input: Content
  readonly idempotencyKey: string
}

/** `requester` is absent for work from outside. */
export const addTurn = (
  draft: Draft,
  work: { readonly target: Session; readonly requester: Session | undefined; readonly input: Content },
  given: Given,
): Answer => {
  const { target, requester, input } = work
  const sequence = target.lastSequence + 1
  const originTurn = requester === undefined ? undefined : runningTurn(draft, requester)
  const turn = newTurn(draft, { sessionId: target.id, sequence, requester, originTurn, input }, given)
  draft.putSession({ ...target, lastSequence: sequence })
  return { sessionId: target.id, turnId: turn.id, sequence }
}

export const enqueue: Decide<EnqueueArguments> = mutation<EnqueueArguments, Session>("enqueue", {
  resolve: ({ draft, caller, arguments: asked }) => enqueueTarget(draft, caller, asked.sessionId),
  allowed: ({ caller }, target) => checkGrant(caller, { operation: "enqueue", agent: target.agent }),
  effect: ({ draft, caller, arguments: asked, given }, target) => {
    const open = openForEnqueue(draft, caller, target)
    if (!open.ok) return open
    return ok(addTurn(draft, { target, requester: caller.session, input: asked.input }, given))
  },
})
