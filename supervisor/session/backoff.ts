/** The waits before lost processes are replaced. They are in memory: a restarted supervisor waits anew, no longer. */
import type { SessionId } from "@computerd/protocol/ids"
import type { Cancel, Timers } from "../ports.ts"
import type { SessionRow } from "../store/sessions.ts"

export interface Backoff {
  /** The Session has no process, and its next one waits as long as its row says. */
  readonly begin: (row: SessionRow) => void
  /** A row whose losses were forgotten meanwhile, by a release, waits for nothing. */
  readonly isWaiting: (row: SessionRow) => boolean
  readonly close: () => void
}

export const createBackoff = (timers: Timers, over: (sessionId: SessionId) => void): Backoff => {
  const waits = new Map<SessionId, Cancel>()

  const end = (sessionId: SessionId): void => {
    waits.get(sessionId)?.()
    waits.delete(sessionId)
  }

  return {
    begin: ({ sessionId, wanted, recovery }) => {
      end(sessionId)
      if (!wanted || recovery === undefined || recovery.delayMs === 0) return
      const cancel = timers.after(recovery.delayMs, () => {
        waits.delete(sessionId)
        over(sessionId)
      })
      waits.set(sessionId, cancel)
    },
    isWaiting: ({ sessionId, recovery }) => recovery !== undefined && waits.has(sessionId),
    close: () => {
      for (const sessionId of [...waits.keys()]) end(sessionId)
    },
  }
}
