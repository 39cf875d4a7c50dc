/**
 * Ends processes of this Computer that no record speaks of: those of a store that was lost, and what outlived a Session
 * that is forgotten. They carry the Computer's marker; those whose Session has a run here are that run's business.
 */
import type { ComputerId, SessionId } from "@computerd/protocol/ids"
import type { Journal } from "../journal.ts"
import type { Ports } from "../ports.ts"
import { computerMarker, sessionMarker, sessionOf } from "../process/environment.ts"
import { hasMarker } from "../process/identity.ts"
import { listPids, readEnviron } from "../process/procfs.ts"
import { killTree } from "../process/tree.ts"

export interface StraysDeps {
  readonly ports: Ports
  readonly journal: Journal
  readonly computerId: ComputerId
  readonly hasRun: (sessionId: SessionId) => boolean
}

const killLimitMs = 5_000

/** Markers of Sessions that have processes and no run. */
const unknownSessions = ({ computerId, hasRun }: StraysDeps): ReadonlySet<SessionId> => {
  const marker = computerMarker(computerId)
  const found = new Set<SessionId>()
  for (const pid of listPids()) {
    const environ = pid === process.pid ? "" : (readEnviron(pid) ?? "")
    const sessionId = hasMarker(environ, marker) ? sessionOf(environ) : undefined
    if (sessionId !== undefined && !hasRun(sessionId)) found.add(sessionId)
  }
  return found
}

export const endStrays = async (deps: StraysDeps): Promise<void> => {
  const { ports, journal } = deps
  const ends = [...unknownSessions(deps)].map(async (sessionId) => {
    const tree = { root: undefined, marker: sessionMarker(sessionId), cgroup: undefined }
    const { killed, survivors } = await killTree(ports, tree, killLimitMs)
    journal.record({ event: "strays_killed", sessionId, killed, survivors })
  })
  await Promise.all(ends)
}
