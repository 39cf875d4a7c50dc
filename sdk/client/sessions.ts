/** `client.sessions`: Sessions as the server sees them, each with what can be done with it. */
import { sessionRoutes } from "@computerd/protocol/api/sessions"
import type { HoldKind } from "./events/types.ts"
import type { CallOptions } from "./options.ts"
import { type PageOptions, pageOf } from "./paging.ts"
import { createSessionHandle, type SessionHandle } from "./session.ts"
import type { Transport } from "./transport/transport.ts"
import type { TurnRecord } from "./turns.ts"

export type SessionStatus = "open" | "closing" | "closed"

export interface SessionHold {
  readonly id: string
  /** The Session that was named: where the hold is released. */
  readonly sessionId: string
  readonly kind: HoldKind
  readonly createdAt: string
  /** Of `recovery` holds: what a lost process left behind. */
  readonly recoveryGap?:
    | { readonly reason: string; readonly turnId: string | null; readonly generation: number }
    | undefined
  /** Whether a client may release it. */
  readonly canRelease: boolean
}

/** As it was when it was read. */
export interface SessionRecord {
  readonly id: string
  readonly key: string | null
  readonly agent: string
  /** The Agent's own; its Computer may have been made from another one. */
  readonly template: string
  readonly deploymentId: string
  readonly computerId: string
  readonly rootSessionId: string
  readonly parentSessionId: string | null
  readonly requesterSessionId: string | null
  readonly initialTurn: { readonly id: string; readonly status: TurnRecord["status"] } | null
  readonly status: SessionStatus
  readonly process: "none" | "starting" | "ready"
  /** Of its process; 0 before the first one. */
  readonly generation: number
  readonly closeAfterIdleMs: number | null
  readonly idleSince: string | null
  /** Own ones, then inherited interrupts. */
  readonly holds: readonly SessionHold[]
  readonly createdAt: string
  readonly closedAt: string | null
}

export type Session = SessionRecord &
  SessionHandle & {
    /** What was read, without what can be done with it. */
    readonly toJSON: () => SessionRecord
  }

export interface SessionPage {
  readonly sessions: readonly Session[]
  readonly nextCursor?: string | undefined
}

export interface ListSessionsOptions extends PageOptions {
  readonly status?: SessionStatus | undefined
  readonly agent?: string | undefined
  /** The `sessionKey` that it was started with. */
  readonly key?: string | undefined
  readonly computerId?: string | undefined
  readonly parentSessionId?: string | undefined
  readonly rootSessionId?: string | undefined
}

export interface Sessions {
  readonly get: (sessionId: string, options?: CallOptions) => Promise<Session>
  /** Newest first. */
  readonly list: (options?: ListSessionsOptions) => Promise<SessionPage>
  /** Of a Session whose id is known, without asking the server. */
  readonly handle: (sessionId: string) => SessionHandle
}

const sessionOf = (transport: Transport, record: SessionRecord): Session => ({
  ...createSessionHandle(transport, record.id),
  ...record,
  toJSON: () => record,
})

interface RecordPage {
  readonly sessions: readonly SessionRecord[]
  readonly nextCursor?: string | undefined
}

export const sessionPageOf = (transport: Transport, page: RecordPage): SessionPage => ({
  ...page,
  sessions: page.sessions.map((record) => sessionOf(transport, record)),
})

const filtersOf = (options: ListSessionsOptions) => {
  const { status, agent, key, computerId, parentSessionId, rootSessionId } = options
  return { ...pageOf(options), status, agent, key, computerId, parentSessionId, rootSessionId }
}

export const createSessions = (transport: Transport): Sessions => ({
  get: async (sessionId, options = {}) => {
    const { get: route } = sessionRoutes
    return sessionOf(
      transport,
      await transport.call({ route, params: { sessionId }, query: {}, body: undefined }, options),
    )
  },
  list: async (options = {}) => {
    const query = filtersOf(options)
    const page = await transport.call(
      { route: sessionRoutes.list, params: {}, query, body: undefined },
      options,
    )
    return sessionPageOf(transport, page)
  },
  handle: (sessionId) => createSessionHandle(transport, sessionId),
})
