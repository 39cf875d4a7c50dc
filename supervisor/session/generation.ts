/**
 * Begins the next generation of a Session.
 *
 * GE1 generation before start: its number, the hash of its secret and its first frame are on disk before anything
 *     is spawned under it
 */
import type { SessionContextData } from "@computerd/protocol/channel"
import { exitText } from "@computerd/protocol/exit"
import { type ComputerId, Generation } from "@computerd/protocol/ids"
import type { LinkEvent } from "@computerd/protocol/link"
import { secretHash } from "../channel/secret.ts"
import type { Reach } from "../crash-points.ts"
import type { Clock } from "../ports.ts"
import type { ProcessIdentity } from "../process/identity.ts"
import type { Store } from "../store/open.ts"
import type { SessionRow } from "../store/sessions.ts"
import type { DownFrames } from "./frames.ts"

export interface GenerationDeps {
  readonly clock: Clock
  readonly store: Store
  readonly computerId: ComputerId
  readonly bootId: string
  readonly frames: Pick<DownFrames, "push">
  readonly emit: (event: LinkEvent) => void
  readonly cgroupOf: (process: ProcessIdentity) => string | undefined
  readonly reach: Reach
}

/** The control plane may not have heard yet of the process that this one replaces. */
const recoveryOf = ({ generation, lastExit, assignment }: SessionRow): SessionContextData["recovery"] => {
  if (generation === 0) return assignment.recovery
  const reason = lastExit === undefined ? assignment.recovery.reason : exitText(lastExit)
  return reason === undefined ? { kind: "reconstructed" } : { kind: "reconstructed", reason }
}

const contextOf = (row: SessionRow, computerId: ComputerId): SessionContextData => {
  const { sessionId, key, parent, deploymentId } = row.assignment
  return {
    session: {
      id: sessionId,
      ...(key === undefined ? {} : { key }),
      ...(parent === undefined ? {} : { parent }),
    },
    computer: { id: computerId },
    deployment: { id: deploymentId },
    recovery: recoveryOf(row),
  }
}

/** GE1 */
export const beginGeneration = (deps: GenerationDeps, row: SessionRow, secret: string): ProcessIdentity =>
  deps.store.synced(() => {
    const { sessionId } = row
    const identity = { sessionId, generation: Generation.parse(row.generation + 1) }
    deps.store.sessions.put({ ...row, generation: identity.generation })
    deps.store.processes.put({
      ...identity,
      secretHash: secretHash(secret),
      pid: undefined,
      startTime: undefined,
      bootId: deps.bootId,
      cgroup: deps.cgroupOf(identity),
      startedAtMs: deps.clock.wallMs(),
      received: 0,
      sent: 0,
      phase: "starting",
      stop: undefined,
    })
    deps.frames.push(sessionId, { type: "initialize", context: contextOf(row, deps.computerId) })
    deps.emit({ type: "process_starting", ...identity })
    deps.store.afterCommit(() => deps.reach("generation.after_commit"))
    deps.reach("generation.before_commit")
    return identity
  })
