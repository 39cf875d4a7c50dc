/**
 * Answers the getter calls of Session processes. Whether a connection is given is decided elsewhere; here the answer
 * finds its way back, or is given up because its process is gone.
 */
import type { McpConnection } from "@computerd/protocol/channel"
import { fail, type Result } from "@computerd/protocol/errors"
import type { SessionId } from "@computerd/protocol/ids"
import type { ProcessIdentity } from "../process/identity.ts"
import type { Store } from "../store/open.ts"
import type { ConnectionRequest, DownFrames } from "./frames.ts"
import type { AskedPolicy } from "./sessions.ts"

export interface GettersDeps {
  readonly store: Store
  readonly connect: (process: ProcessIdentity, policy: AskedPolicy) => Promise<Result<McpConnection>>
  readonly frames: () => DownFrames
  readonly flush: (sessionId: SessionId) => void
  readonly overflowed: (sessionId: SessionId) => void
  readonly taskFailed: (task: string, error: unknown) => void
}

export interface Getters {
  readonly answer: (process: ProcessIdentity, request: ConnectionRequest) => void
  /** The answer was given a number before, and its text is needed again. */
  readonly repeat: (process: ProcessIdentity, request: ConnectionRequest) => void
}

export const createGetters = (deps: GettersDeps): Getters => {
  const { store, taskFailed } = deps

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

  const answer = async (process: ProcessIdentity, request: ConnectionRequest): Promise<void> => {
    const { sessionId } = process
    if (!(await remember(process, request))) return
    const pushed = store.transaction(() => deps.frames().pushConnection(sessionId, request))
    if (pushed) deps.flush(sessionId)
    else deps.overflowed(sessionId)
  }

  const repeat = async (process: ProcessIdentity, request: ConnectionRequest): Promise<void> => {
    if (await remember(process, request)) deps.flush(process.sessionId)
  }

  const inBackground =
    (work: (process: ProcessIdentity, request: ConnectionRequest) => Promise<void>): Getters["answer"] =>
    (process, request) => {
      work(process, request).catch((error: unknown) => taskFailed("connect", error))
    }

  return { answer: inBackground(answer), repeat: inBackground(repeat) }
}
