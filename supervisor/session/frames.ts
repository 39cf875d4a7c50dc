/**
 * Frames to Session processes. A bearer is never stored: the stored form of a connection answer names the request,
 * and the text with the bearer is kept in memory, or asked for again, since an equal request has an equal answer.
 */
import type { ChannelDown, McpConnection } from "@computerd/protocol/channel"
import type { Result } from "@computerd/protocol/errors"
import { RequestId, type SessionId } from "@computerd/protocol/ids"
import { z } from "zod"
import type { ProcessIdentity } from "../process/identity.ts"
import type { Store } from "../store/open.ts"
import type { AskedPolicy } from "./sessions.ts"

/** No JSON text begins with it. */
const referenceMark = "@"

const Reference = z.strictObject({ requestId: RequestId, policy: z.unknown().optional() })

export interface ConnectionRequest {
  readonly requestId: RequestId
  readonly policy: AskedPolicy
}

/** A request as it is stored. */
export const requestText = ({ requestId, policy }: ConnectionRequest): string =>
  JSON.stringify(policy.given ? { requestId, policy: policy.value } : { requestId })

export const requestOf = (text: string): ConnectionRequest => {
  const parsed = Reference.parse(JSON.parse(text))
  return {
    requestId: parsed.requestId,
    policy: "policy" in parsed ? { given: true, value: parsed.policy } : { given: false },
  }
}

export interface DownFrames {
  /** Inside a transaction. `false`: the process has left too many unread. */
  readonly push: (sessionId: SessionId, body: ChannelDown) => boolean
  /** Inside a transaction, after `remember`. */
  readonly pushConnection: (sessionId: SessionId, request: ConnectionRequest) => boolean
  /** Keeps the text of a connection answer. */
  readonly remember: (sessionId: SessionId, requestId: RequestId, result: Result<McpConnection>) => void
  /** The text to send for a stored frame; `undefined`: it has been asked for again. */
  readonly wire: (process: ProcessIdentity, stored: string) => string | undefined
  /** The process is gone, and what was kept in memory for it with it. */
  readonly forget: (sessionId: SessionId) => void
}

export interface DownFramesDeps {
  readonly store: Store
  readonly askAgain: (process: ProcessIdentity, request: ConnectionRequest) => void
}

/** For each process; an answer that has left the memory is asked for again. */
const rememberedMax = 64

export const createDownFrames = ({ store, askAgain }: DownFramesDeps): DownFrames => {
  const texts = new Map<SessionId, Map<RequestId, string>>()
  const pushText = (sessionId: SessionId, text: string): boolean =>
    store.processes.pushFrame(sessionId, text) !== undefined

  return {
    push: (sessionId, body) => pushText(sessionId, JSON.stringify(body)),
    pushConnection: (sessionId, request) => pushText(sessionId, referenceMark + requestText(request)),
    remember: (sessionId, requestId, result) => {
      const body: ChannelDown = { type: "mcp_connection_result", requestId, result }
      const ofSession = texts.get(sessionId) ?? new Map<RequestId, string>()
      ofSession.set(requestId, JSON.stringify(body))
      const [oldest] = ofSession.keys()
      if (ofSession.size > rememberedMax && oldest !== undefined) ofSession.delete(oldest)
      texts.set(sessionId, ofSession)
    },
    wire: (process, stored) => {
      if (!stored.startsWith(referenceMark)) return stored
      const request = requestOf(stored.slice(referenceMark.length))
      const text = texts.get(process.sessionId)?.get(request.requestId)
      if (text === undefined) askAgain(process, request)
      return text
    },
    forget: (sessionId) => {
      texts.delete(sessionId)
    },
  }
}
