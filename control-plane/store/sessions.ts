import type { SessionStatus } from "@computerd/protocol/content"
import type {
  ComputerId,
  DefinitionKey,
  DeploymentId,
  EnvironmentKey,
  SessionId,
  TurnId,
} from "@computerd/protocol/ids"
import type { Closing, Session } from "../rules/entities.ts"
import type { SessionPage } from "../rules/state.ts"
import { last, placeholders, type Sql, type Value } from "./sql.ts"
import { type Table, tableOf } from "./table.ts"

interface SessionRecord {
  readonly id: SessionId
  readonly environment: EnvironmentKey
  readonly key: string | null
  readonly deployment_id: DeploymentId
  readonly agent: DefinitionKey
  readonly template: DefinitionKey
  readonly computer_id: ComputerId
  readonly role: Session["role"]
  readonly root_id: SessionId
  readonly parent_id: SessionId | null
  readonly requester_id: SessionId | null
  readonly depth: number
  readonly status: SessionStatus
  readonly closing: Closing
  readonly close_after_idle_ms: number | null
  readonly idle_since: number | null
  readonly idle_due: number | null
  readonly initial_turn_id: TurnId | null
  readonly last_sequence: number
  readonly generation: number
  readonly process: Session["process"]
  readonly losses: number
  readonly loss_reason: string | null
  readonly created_at: number
  readonly closed_at: number | null
}

const sessionOf = (record: SessionRecord): Session => ({
  id: record.id,
  environment: record.environment,
  key: record.key,
  deploymentId: record.deployment_id,
  agent: record.agent,
  template: record.template,
  computerId: record.computer_id,
  role: record.role,
  rootId: record.root_id,
  parentId: record.parent_id,
  requesterId: record.requester_id,
  depth: record.depth,
  status: record.status,
  closing: record.closing,
  closeAfterIdleMs: record.close_after_idle_ms,
  idleSince: record.idle_since,
  idleDue: record.idle_due,
  initialTurnId: record.initial_turn_id,
  lastSequence: record.last_sequence,
  generation: record.generation,
  process: record.process,
  losses: record.losses,
  lossReason: record.loss_reason,
  createdAt: record.created_at,
  closedAt: record.closed_at,
})

const table = (sql: Sql): Table<Session> =>
  tableOf<Session>(sql, {
    name: "sessions",
    id: (row) => row.id,
    fixed: {
      environment: (row) => row.environment,
      key: (row) => row.key,
      deployment_id: (row) => row.deploymentId,
      agent: (row) => row.agent,
      template: (row) => row.template,
      computer_id: (row) => row.computerId,
      role: (row) => row.role,
      root_id: (row) => row.rootId,
      parent_id: (row) => row.parentId,
      requester_id: (row) => row.requesterId,
      depth: (row) => row.depth,
      close_after_idle_ms: (row) => row.closeAfterIdleMs,
      initial_turn_id: (row) => row.initialTurnId,
      created_at: (row) => row.createdAt,
    },
    changing: {
      status: (row) => row.status,
      closing: (row) => row.closing,
      idle_since: (row) => row.idleSince,
      idle_due: (row) => row.idleDue,
      last_sequence: (row) => row.lastSequence,
      generation: (row) => row.generation,
      process: (row) => row.process,
      losses: (row) => row.losses,
      loss_reason: (row) => row.lossReason,
      closed_at: (row) => row.closedAt,
    },
  })

const pageText = (page: SessionPage): { readonly text: string; readonly values: readonly Value[] } => {
  const relation = page.relation === "owned" ? "parent_id" : "requester_id"
  const fixed: readonly Value[] = [page.of, page.before ?? last]
  const statuses = placeholders(3, page.statuses.length)
  const agents = page.agents === "all" ? [] : page.agents
  const agentFilter =
    page.agents === "all" ? "" : ` and agent in (${placeholders(3 + page.statuses.length, agents.length)})`
  const limit = `$${3 + page.statuses.length + agents.length}`
  return {
    text: `select * from sessions where ${relation} = $1 and id < $2 and status in (${statuses})${agentFilter}
           order by id desc limit ${limit}`,
    values: [...fixed, ...page.statuses, ...agents, page.limit],
  }
}

export interface SessionFilter {
  readonly status?: SessionStatus | undefined
  readonly agent?: DefinitionKey | undefined
  readonly key?: string | undefined
  readonly computerId?: ComputerId | undefined
  readonly parentSessionId?: SessionId | undefined
  readonly rootSessionId?: SessionId | undefined
}

export interface EnvironmentSessions {
  readonly environment: EnvironmentKey
  readonly filter: SessionFilter
  readonly before: string | null
  readonly limit: number
}

const filterColumns = [
  ["status", "status"],
  ["agent", "agent"],
  ["key", "key"],
  ["computerId", "computer_id"],
  ["parentSessionId", "parent_id"],
  ["rootSessionId", "root_id"],
] as const satisfies readonly (readonly [keyof SessionFilter, string])[]

/** Each set of filters has a text of its own; there are 64. */
const environmentText = ({ environment, filter, before, limit }: EnvironmentSessions) => {
  const conditions = filterColumns.flatMap(([name, column]) => {
    const value = filter[name]
    return value === undefined ? [] : [{ column, value }]
  })
  const more = conditions.map(({ column }, index) => ` and ${column} = $${index + 3}`).join("")
  const values: readonly Value[] = [
    environment,
    before ?? last,
    ...conditions.map(({ value }) => value),
    limit,
  ]
  return {
    text: `select * from sessions where environment = $1 and id < $2${more} order by id desc limit $${values.length}`,
    values,
  }
}

export interface Sessions extends Table<Session> {
  readonly get: (id: SessionId) => Session | undefined
  readonly byKey: (environment: EnvironmentKey, key: string) => Session | undefined
  readonly openChildren: (parent: SessionId, limit: number) => readonly Session[]
  readonly openOn: (computer: ComputerId, limit: number) => readonly Session[]
  readonly page: (page: SessionPage) => readonly Session[]
  /** Newest first, below `before`. */
  readonly pageIn: (page: EnvironmentSessions) => readonly Session[]
  readonly all: () => readonly Session[]
  readonly dueForClosing: (now: number, limit: number) => readonly SessionId[]
  /** The wall clock has moved by so much while no time passed for anybody. */
  readonly moveTimes: (byMs: number) => void
  readonly nextClosing: () => number | undefined
}

export const sessionsOf = (sql: Sql): Sessions => {
  const one = (text: string, ...values: readonly Value[]): Session | undefined => {
    const record = sql.get<SessionRecord>(text, ...values)
    return record === undefined ? undefined : sessionOf(record)
  }
  const list = (text: string, ...values: readonly Value[]): readonly Session[] =>
    sql.all<SessionRecord>(text, ...values).map(sessionOf)
  return {
    ...table(sql),
    get: (id) => one("select * from sessions where id = $1", id),
    byKey: (environment, key) =>
      one(
        "select * from sessions where environment = $1 and key = $2 and status <> 'closed'",
        environment,
        key,
      ),
    openChildren: (parent, limit) =>
      list(
        "select * from sessions where parent_id = $1 and status <> 'closed' order by id limit $2",
        parent,
        limit,
      ),
    openOn: (computer, limit) =>
      list(
        "select * from sessions where computer_id = $1 and status <> 'closed' order by id limit $2",
        computer,
        limit,
      ),
    page: (page) => {
      if (page.statuses.length === 0 || page.agents.length === 0) return []
      const { text, values } = pageText(page)
      return list(text, ...values)
    },
    pageIn: (page) => {
      const { text, values } = environmentText(page)
      return list(text, ...values)
    },
    all: () => list("select * from sessions order by id"),
    dueForClosing: (now, limit) =>
      sql
        .all<{ readonly id: SessionId }>(
          "select id from sessions where idle_due <= $1 order by idle_due limit $2",
          now,
          limit,
        )
        .map((row) => row.id),
    moveTimes: (byMs) => {
      sql.run(
        `update sessions set idle_since = idle_since + $1, idle_due = idle_due + $1
         where idle_since is not null`,
        byMs,
      )
    },
    nextClosing: () =>
      sql.get<{ readonly due: number | null }>(
        "select min(idle_due) as due from sessions where idle_due is not null",
      )?.due ?? undefined,
  }
}
