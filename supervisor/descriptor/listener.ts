/**
 * The MCP listener of one Session process: its endpoint, with the headers that open it. It exists from the first
 * successful getter call until the process ends.
 */
import type { McpConnection } from "@computerd/protocol/channel"
import { ok, type Result } from "@computerd/protocol/errors"
import type { SessionAssignment } from "@computerd/protocol/link"
import type { Scope } from "@computerd/protocol/scope"
import { createEndpoint } from "@computerd/runtime-mcp/endpoint/endpoint"
import type { Invoke } from "../admission/admissions.ts"
import type { Journal } from "../journal.ts"
import type { Lease } from "../link/lease.ts"
import type { Ports } from "../ports.ts"
import { within } from "../ports.ts"
import type { ProcessIdentity, Sessions } from "../session/sessions.ts"
import type { SessionTime } from "../session/time.ts"
import type { DescriptorRow } from "../store/scopes.ts"
import { requestAdmission } from "./authority.ts"
import { createTokenIndex } from "./lookup.ts"
import { authorizationFor } from "./token.ts"

/** Open requests are answered in this time, or cut. */
const closeMs = 5_000
const lookupKeyBytes = 32

export interface Listener {
  readonly process: ProcessIdentity
  readonly row: DescriptorRow
  /** Digests of the scopes that may be presented here. */
  readonly digests: () => ReadonlySet<string>
  readonly add: (digest: string, scope: Scope) => void
  readonly connection: (digest: string) => McpConnection
  /** From now on every header is unknown. */
  readonly seal: () => void
  /** Answers open requests, then closes. */
  readonly close: (cause: EndCause) => Promise<void>
}

/** Why a listener closes: its process is gone, or it or the whole supervisor is ending. */
export type EndCause = "exited" | "shutting_down"

export interface ListenerOptions {
  readonly row: DescriptorRow
  readonly role: SessionAssignment["role"]
  readonly ports: Ports
  /** In which its process waits for answers. */
  readonly time: Pick<SessionTime, "clock" | "timers">
  readonly lease: Lease
  readonly find: Sessions["find"]
  readonly invoke: Invoke
  readonly journal: Journal
}

export const openListener = (options: ListenerOptions): Result<Listener> => {
  const { row, role, ports, time, lease, find, invoke, journal } = options
  const process: ProcessIdentity = { sessionId: row.sessionId, generation: row.generation }
  const digests = new Set<string>()
  const tokens = createTokenIndex<{ readonly scope: Scope; readonly id: string }>(
    ports.randomBytes(lookupKeyBytes),
  )
  const endpoint = createEndpoint({
    port: row.port,
    role,
    descriptor: tokens.find,
    admission: () => requestAdmission(process, find(row.sessionId), lease.state()),
    invoke: ({ scope, tool, arguments: args, signal }) =>
      invoke({ ...process, scope, tool, arguments: { ...args } }, signal),
    ...time,
    fault: (error) =>
      journal.record({
        event: "mcp_fault",
        ...process,
        message: error instanceof Error ? error.message : String(error),
      }),
  })
  if (!endpoint.ok) return endpoint
  const { url, close } = endpoint.value
  return ok({
    process,
    row,
    digests: () => digests,
    add: (digest, scope) => {
      digests.add(digest)
      tokens.add(authorizationFor(row.key, digest), { scope, id: digest })
    },
    connection: (digest) => ({ url, headers: { Authorization: authorizationFor(row.key, digest) } }),
    seal: tokens.clear,
    close: async (cause) => {
      await within(ports.timers, closeMs, close(cause))
    },
  })
}
