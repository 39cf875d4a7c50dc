/** The three lists. Grants filter before every page, so no page is short and none tells of what is left out. */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { agentsPageSize, computersPageSize, sessionsPageDefault } from "@computerd/protocol/limits"
import { grantedAgents } from "@computerd/runtime-mcp/policy/scope"
import { type Admission, type Answer, type Decide, observation } from "./admission.ts"
import { cursorAfter, cursorPosition, type ListIdentity } from "./cursors.ts"
import { checkFamily, checkGrant } from "./grant.ts"
import { computerView, sessionView } from "./views.ts"

export interface AgentListArguments {
  readonly operation: "spawn" | "start"
  readonly cursor?: string | undefined
}

export interface ComputerListArguments {
  readonly cursor?: string | undefined
}

export interface SessionListArguments {
  readonly relation: "owned" | "requested"
  readonly status?: readonly ("open" | "closing" | "closed")[] | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

const identity = (admission: Admission<unknown>, tool: string, filters: unknown): ListIdentity => ({
  caller: admission.caller.session.id,
  tool,
  filters,
})

type Asked<Arguments> = Admission<Arguments & { readonly cursor?: string | undefined }>

/** Reads one row more than the page holds: what is left over tells that there is a next page. */
const page = <Row, Arguments>(
  admission: Asked<Arguments>,
  list: ListIdentity,
  source: {
    readonly size: number
    readonly read: (after: string | null, limit: number) => readonly Row[]
    readonly position: (row: Row) => string
  },
): Result<{ readonly rows: readonly Row[]; readonly next: string | undefined }> => {
  const after = cursorPosition(list, admission.arguments.cursor, admission.given)
  if (!after.ok) return after
  const found = source.read(after.value, source.size + 1)
  const rows = found.slice(0, source.size)
  const last = rows.at(-1)
  const more = found.length > source.size && last !== undefined
  return ok({ rows, next: more ? cursorAfter(list, source.position(last), admission.given) : undefined })
}

const grantedKeys = (admission: Admission<AgentListArguments>): readonly string[] => {
  const granted = grantedAgents(admission.caller.scope, admission.arguments.operation)
  const keys = admission.caller.deployment.manifest.agents.map((agent): string => agent.id)
  return keys.filter((key) => granted === "all" || granted.includes(key)).sort()
}

export const listAgents: Decide<AgentListArguments> = observation<AgentListArguments, void>({
  resolve: () => ok(undefined),
  allowed: ({ caller }) => checkFamily(caller, "list_agents", ["spawn", "start"]),
  effect: (admission): Result<Answer> => {
    const { caller, arguments: asked } = admission
    if (caller.session.role === "child")
      return fail("root_session_required", "a child Session creates no work; report the need to its owner")
    const list = identity(admission, "list_agents", { operation: asked.operation })
    const found = page(admission, list, {
      size: agentsPageSize,
      read: (after, limit) =>
        grantedKeys(admission)
          .filter((key) => after === null || key > after)
          .slice(0, limit),
      position: (key) => key,
    })
    if (!found.ok) return found
    const { rows, next } = found.value
    return ok({
      deploymentId: caller.deployment.id,
      agents: rows.map((agent) => ({ agent })),
      ...(next === undefined ? {} : { nextCursor: next }),
    })
  },
})

export const listComputers: Decide<ComputerListArguments> = observation<ComputerListArguments, void>({
  resolve: () => ok(undefined),
  allowed: ({ caller }) => checkGrant(caller, { operation: "list_computers" }),
  effect: (admission): Result<Answer> => {
    const { draft, caller } = admission
    const found = page(admission, identity(admission, "list_computers", {}), {
      size: computersPageSize,
      read: (before, limit) => draft.state.computerPage({ of: caller.session, before, limit }),
      position: (computer) => computer.id,
    })
    if (!found.ok) return found
    const { rows, next } = found.value
    return ok({
      computers: rows.map(computerView),
      ...(next === undefined ? {} : { next_cursor: next }),
    })
  },
})

const allStatuses = ["open", "closing", "closed"] as const

export const listSessions: Decide<SessionListArguments> = observation<SessionListArguments, void>({
  resolve: () => ok(undefined),
  allowed: ({ caller }) => checkFamily(caller, "list_sessions", ["inspect_session"]),
  effect: (admission): Result<Answer> => {
    const { draft, caller, arguments: asked } = admission
    const statuses = allStatuses.filter((status) => asked.status?.includes(status) ?? true)
    const agents = grantedAgents(caller.scope, "inspect_session")
    const list = identity(admission, "list_sessions", { relation: asked.relation, statuses })
    const found = page(admission, list, {
      size: asked.limit ?? sessionsPageDefault,
      read: (before, limit) =>
        draft.state.sessionPage({
          of: caller.session.id,
          relation: asked.relation,
          agents,
          statuses,
          before,
          limit,
        }),
      position: (session) => session.id,
    })
    if (!found.ok) return found
    const { rows, next } = found.value
    return ok({
      sessions: rows.map((session) => sessionView(draft, caller.session, session)),
      ...(next === undefined ? {} : { next_cursor: next }),
    })
  },
})
