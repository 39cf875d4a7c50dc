/** Requests to the supervisor that wait for their answer. Whoever waits is always told something. */
import type { Failure, Result } from "@computerd/protocol/errors"
import type { RequestId } from "@computerd/protocol/ids"
import { HelmrError } from "@helmr/sdk/error"
import { failure } from "../turn/failure.ts"

/** A program that asks in a loop while the supervisor is away is stopped here. */
const pendingMax = 1_000

interface Pending<Value, Owner> {
  readonly owner: Owner
  readonly resolve: (value: Value) => void
  readonly reject: (error: HelmrError) => void
}

export interface Requests<Value, Owner> {
  /** `send` puts the request on the channel under the id that it is given. */
  readonly ask: (owner: Owner, send: (id: RequestId) => void) => Promise<Value>
  /** An answer that nobody waits for any more is dropped. */
  readonly answer: (id: RequestId, result: Result<Value>) => void
  /** Tells those whose owner passes `of` that no answer will come. */
  readonly abandon: (error: Failure, of: (owner: Owner) => boolean) => void
}

export const createRequests = <Value, Owner>(newId: () => RequestId): Requests<Value, Owner> => {
  const pending = new Map<RequestId, Pending<Value, Owner>>()
  return {
    ask: (owner, send) => {
      if (pending.size >= pendingMax) {
        const message = `${pendingMax} requests wait for the supervisor; await earlier ones first`
        return Promise.reject(new HelmrError(failure("admission_unavailable", message)))
      }
      const id = newId()
      return new Promise((resolve, reject) => {
        pending.set(id, { owner, resolve, reject })
        send(id)
      })
    },
    answer: (id, result) => {
      const request = pending.get(id)
      pending.delete(id)
      if (result.ok) request?.resolve(result.value)
      else request?.reject(new HelmrError(result.error))
    },
    abandon: (error, of) => {
      for (const [id, request] of pending) {
        if (!of(request.owner)) continue
        pending.delete(id)
        request.reject(new HelmrError(error))
      }
    },
  }
}
