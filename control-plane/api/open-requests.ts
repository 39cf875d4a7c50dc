/**
 * Requests that stay open: event streams and waits. Each key has a bounded number; the revocation of a key and the end of
 * the server end them.
 */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { ApiKeyId } from "@computerd/protocol/ids"

export interface OpenRequest {
  /** Aborted when the key is revoked, the server closes, or the request has ended. */
  readonly signal: AbortSignal
  /** Gives the place back; once is enough, more is harmless. */
  readonly end: () => void
}

export interface OpenRequests {
  readonly open: (key: ApiKeyId) => Result<OpenRequest>
  readonly revoke: (key: ApiKeyId) => void
  readonly close: () => void
}

export const createOpenRequests = (max: number): OpenRequests => {
  const open = new Map<ApiKeyId, Set<AbortController>>()

  const end = (key: ApiKeyId, why: string): void => {
    for (const controller of [...(open.get(key) ?? [])]) controller.abort(new Error(why))
  }

  return {
    open: (key) => {
      const own = open.get(key) ?? new Set()
      if (own.size >= max)
        return fail("rate_limited", `this key has ${max} streams and waits open; end one of them first`)
      const controller = new AbortController()
      own.add(controller)
      open.set(key, own)
      return ok({
        signal: controller.signal,
        end: () => {
          controller.abort(new Error("the request has ended"))
          own.delete(controller)
          if (own.size === 0 && open.get(key) === own) open.delete(key)
        },
      })
    },
    revoke: (key) => end(key, "the key was revoked"),
    close: () => {
      for (const key of [...open.keys()]) end(key, "the control plane is stopping")
    },
  }
}
