/**
 * `spawn` and `start`.
 *
 * N2 a creation that names no Computer asks for a new one, on every retry
 * N3 children create nothing; each Environment bounds how deep delegation goes
 */
import type { Content } from "@computerd/protocol/content"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { ComputerId } from "@computerd/protocol/ids"
import type { AgentManifest } from "@computerd/protocol/manifest"
import { type Decide, mutation } from "./admission.ts"
import type { Caller } from "./caller.ts"
import type { Draft } from "./draft.ts"
import type { Computer, Session } from "./entities.ts"
import type { Given } from "./given.ts"
import { checkGrant } from "./grant.ts"
import { createSession, findAgent, newComputer, runningTurn } from "./making.ts"
import { hasCommandRoom } from "./room.ts"

export interface CreationArguments {
  readonly agent: string
  readonly input: Content
  readonly idempotencyKey: string
  readonly computerId?: ComputerId | undefined
}

/** N3 */
const checkRole = (caller: Caller, given: Given): Result<void> => {
  if (caller.session.role === "child")
    return fail("root_session_required", "a child Session creates no work; report the need to its owner")
  const max = given.settings.environments(caller.session.environment).delegationDepthMax
  if (caller.session.depth < max) return ok(undefined)
  return fail(
    "delegation_depth_exceeded",
    `this Environment allows ${max} steps of delegation and this Session is at step ${caller.session.depth}`,
  )
}

/** Any Computer but a finite scope's own is beyond the contract, existing or not. */
const checkPlacement = (draft: Draft, caller: Caller, computerId: ComputerId | undefined): Result<void> => {
  if (computerId === undefined || computerId === caller.computer.id) return ok(undefined)
  if (caller.scope.kind === "finite")
    return fail("runtime_mcp_denied", "computerId must be the caller's own Computer", "computerId")
  const computer = draft.computer(computerId)
  if (computer?.environment === caller.session.environment && computer.status === "available")
    return ok(undefined)
  return fail(
    "invalid_arguments",
    `computerId ${computerId} is no Computer of this Environment`,
    "computerId",
  )
}

const placed = (draft: Draft, computerId: ComputerId): Result<Computer> => {
  const computer = draft.computer(computerId)
  const room = hasCommandRoom(computer)
  if (!room.ok) return room
  if (computer?.status === "available") return ok(computer)
  return fail("invalid_arguments", `computerId ${computerId} is being deleted`, "computerId")
}

/** Spawning counts as work of the parent. */
const restartIdleClock = (draft: Draft, parent: Session, given: Given): void => {
  const session = draft.session(parent.id)
  if (session === undefined || session.idleSince === null) return
  draft.putSession({ ...session, idleSince: given.now })
}

export const creation = (operation: "spawn" | "start"): Decide<CreationArguments> =>
  mutation<CreationArguments, AgentManifest>(operation, {
    resolve: ({ caller, arguments: asked }) => findAgent(caller.deployment, asked.agent),
    allowed: ({ draft, caller, arguments: asked }, agent) => {
      const placement = asked.computerId === undefined ? "new" : "caller"
      const granted = checkGrant(caller, { operation, agent: agent.id, placement })
      return granted.ok ? checkPlacement(draft, caller, asked.computerId) : granted
    },
    effect: ({ draft, caller, arguments: asked, given }, agent) => {
      const role = checkRole(caller, given)
      if (!role.ok) return role
      const { deployment, session: requester } = caller
      const computer: Result<Computer> =
        asked.computerId === undefined
          ? ok(newComputer(draft, { deployment, agent }, given))
          : placed(draft, asked.computerId)
      if (!computer.ok) return computer
      const owned = operation === "spawn"
      if (owned) restartIdleClock(draft, requester, given)
      const originTurn = runningTurn(draft, requester)
      return ok(
        createSession(
          draft,
          {
            deployment,
            agent,
            computer: computer.value,
            requester,
            originTurn,
            owned,
            key: null,
            input: asked.input,
          },
          given,
        ),
      )
    },
  })
