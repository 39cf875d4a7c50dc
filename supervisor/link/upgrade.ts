/**
 * Why a dial found no WebSocket: the client of the runtime does not tell the status of a refused upgrade, so the same
 * request is made once more as an ordinary one.
 */
import { type Failure, failure } from "@computerd/protocol/errors"
import type { DialTarget } from "./transport.ts"

const answerMs = 5_000

/** `unauthorized` when the control plane does not know the credential; nothing when the cause is another. */
export const refusedUpgrade = async ({ url, credential }: DialTarget): Promise<Failure | undefined> => {
  try {
    const response = await fetch(url.replace(/^ws/, "http"), {
      headers: { Authorization: `Bearer ${credential}` },
      redirect: "manual",
      keepalive: false,
      signal: AbortSignal.timeout(answerMs),
    })
    await response.body?.cancel()
    return response.status === 401 || response.status === 403
      ? failure("unauthorized", "the control plane does not know this Computer's credential")
      : undefined
  } catch {
    // Nobody is there at all: that is what the dial has said already.
    return undefined
  }
}
