/**
 * Ends processes of this Computer that no record speaks of: those of a store that was lost, and what outlived a Session
 * that is forgotten. They carry the Computer's marker; those whose Session has a run here are that run's business.
 */
import type { ComputerId, SessionId } from "@computerd/protocol/ids"
import type { Journal } from "../journal.ts"
import type { Ports } from "../ports.ts"
import { computerMarker, recorderMarker, sessionMarker, sessionOf } from "../process/environment.ts"
import { hasMarker } from "../process/identity.ts"
import { listPids, readEnviron } from "../process/procfs.ts"
import { killNow, killTree } from "../process/tree.ts"

export interface StraysDeps {
  readonly ports: Ports
  readonly journal: Journal
  readonly computerId: ComputerId
  readonly hasRun: (sessionId: SessionId) => boolean
  /** Whether a process that keeps exits still does so for somebody. */
  readonly needsRecorder: (pid: number) => boolean
}

const killLimitMs = 5_000

interface Strays {
  /** Those that have processes and no run. */
  readonly sessions: ReadonlySet<SessionId>
  readonly recorders: readonly number[]
}

const findStrays = ({ computerId, hasRun, needsRecorder }: StraysDeps): Strays => {
  const marker = computerMarker(computerId)
  const sessions = new Set<SessionId>()
  const recorders: number[] = []
  for (const pid of listPids()) {
    const environ = pid === process.pid ? "" : (readEnviron(pid) ?? "")
    if (!hasMarker(environ, marker)) continue
    const sessionId = sessionOf(environ)
    if (sessionId !== undefined && !hasRun(sessionId)) sessions.add(sessionId)
    if (sessionId === undefined && hasMarker(environ, recorderMarker) && !needsRecorder(pid))
      recorders.push(pid)
  }
  return { sessions, recorders }
}

export const endStrays = async (deps: StraysDeps): Promise<void> => {
  const { ports, journal } = deps
  const { sessions, recorders } = findStrays(deps)
  for (const pid of recorders) killNow(pid)
  const ends = [...sessions].map(async (sessionId) => {
    const tree = { root: undefined, marker: sessionMarker(sessionId), cgroup: undefined }
    const { killed, survivors } = await killTree(ports, tree, killLimitMs)
    journal.record({ event: "strays_killed", sessionId, killed, survivors })
  })
  await Promise.all(ends)
}
