/**
 * Answers the getter calls of Session processes. Whether a connection is given is decided elsewhere; here the answer
 * finds its way back, or is given up because its process is gone.
 *
 * GC1 a call that was taken is on record until its answer has a number, so that no restart leaves it unanswered
 */
import type { McpConnection } from "@computerd/protocol/channel"
import { fail, type Result } from "@computerd/protocol/errors"
import type { SessionId } from "@computerd/protocol/ids"
import type { Reach } from "../crash-points.ts"
import type { Timers } from "../ports.ts"
import type { ProcessIdentity } from "../process/identity.ts"
import type { Store } from "../store/open.ts"
import { type ConnectionRequest, type DownFrames, requestOf, requestText } from "./frames.ts"
import type { AskedPolicy } from "./sessions.ts"

export interface GettersDeps {
  readonly timers: Timers
  readonly reach: Reach
  readonly store: Store
  readonly connect: (process: ProcessIdentity, policy: AskedPolicy) => Promise<Result<McpConnection>>
  readonly frames: () => DownFrames
  readonly flush: (sessionId: SessionId) => void
  readonly overflowed: (sessionId: SessionId) => void
  readonly taskFailed: (task: string, error: unknown) => void
}

export interface Getters {
  /** Inside the transaction that takes the call. */
  readonly take: (process: ProcessIdentity, request: ConnectionRequest) => void
  /** The answer was given a number before, and its text is needed again. */
  readonly repeat: (process: ProcessIdentity, request: ConnectionRequest) => void
  /** Answers what an earlier supervisor took and did not answer. */
  readonly resume: (process: ProcessIdentity) => void
}

/** A store that cannot be written recovers by itself. */
const againMs = 1000

export const createGetters = (deps: GettersDeps): Getters => {
  const { store, taskFailed, reach } = deps

  const ask = async (
    process: ProcessIdentity,
    request: ConnectionRequest,
  ): Promise<Result<McpConnection>> => {
    try {
      return await deps.connect(process, request.policy)
    } catch (error) {
      taskFailed("connect", error)
      return fail("internal", "the connection could not be made: see the supervisor's log")
    }
  }

  const isCurrent = ({ sessionId, generation }: ProcessIdentity): boolean =>
    store.processes.get(sessionId)?.generation === generation

  /** `false`: the process is gone meanwhile. */
  const remember = async (process: ProcessIdentity, request: ConnectionRequest): Promise<boolean> => {
    const result = await ask(process, request)
    if (!isCurrent(process)) return false
    deps.frames().remember(process.sessionId, request.requestId, result)
    return true
  }

  /** GC1 */
  const push = ({ sessionId }: ProcessIdentity, request: ConnectionRequest): boolean =>
    store.transaction(() => {
      store.processes.endCall(sessionId, request.requestId)
      store.afterCommit(() => reach("connection.after_commit"))
      const pushed = deps.frames().pushConnection(sessionId, request)
      reach("connection.before_commit")
      return pushed
    })

  const answer = async (process: ProcessIdentity, request: ConnectionRequest): Promise<void> => {
    if (!(await remember(process, request))) return
    try {
      if (push(process, request)) deps.flush(process.sessionId)
      else deps.overflowed(process.sessionId)
    } catch (error) {
      taskFailed("connect", error)
      deps.timers.after(againMs, () => {
        if (isCurrent(process)) inBackground(answer)(process, request)
      })
    }
  }

  const repeat = async (process: ProcessIdentity, request: ConnectionRequest): Promise<void> => {
    if (await remember(process, request)) deps.flush(process.sessionId)
  }

  const inBackground =
    (work: (process: ProcessIdentity, request: ConnectionRequest) => Promise<void>): Getters["repeat"] =>
    (process, request) => {
      work(process, request).catch((error: unknown) => taskFailed("connect", error))
    }

  return {
    take: (process, request) => {
      store.processes.keepCall(process.sessionId, request.requestId, requestText(request))
      store.afterCommit(() => inBackground(answer)(process, request))
    },
    repeat: inBackground(repeat),
    resume: (process) => {
      for (const text of store.processes.calls(process.sessionId))
        inBackground(answer)(process, requestOf(text))
    },
  }
}
