/**
 * Descriptors of the Session processes on this Computer: what `ctx.mcp.getConnectionOptions` answers, and the
 * listeners behind it.
 *
 * D1 nothing listens before the first successful call of a process, and a failed first call leaves nothing behind
 * D2 what was handed out is durable first: a restarted supervisor derives the same headers
 * D3 no dead token: once a process ends, its key is gone and its headers are unknown, before its listener closes
 */
import type { McpConnection } from "@computerd/protocol/channel"
import type { PortRange } from "@computerd/protocol/configuration"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { SessionId } from "@computerd/protocol/ids"
import { getterLeaseWaitMs } from "@computerd/protocol/limits"
import type { SessionAssignment } from "@computerd/protocol/link"
import type { Scope } from "@computerd/protocol/scope"
import { requestedScope } from "@computerd/runtime-mcp/policy/resolve"
import { scopeDigest } from "@computerd/runtime-mcp/policy/scope"
import type { Invoke } from "../admission/admissions.ts"
import type { Journal } from "../journal.ts"
import type { Lease } from "../link/lease.ts"
import type { Ports } from "../ports.ts"
import type { AskedPolicy, ProcessIdentity, Sessions } from "../session/sessions.ts"
import type { Store } from "../store/open.ts"
import { type DescriptorRow, scopesTable } from "../store/scopes.ts"
import { processAuthority } from "./authority.ts"
import { type EndCause, type Listener, openListener } from "./listener.ts"
import { candidatePorts } from "./port.ts"
import { retain } from "./scopes.ts"
import { processKeyBytes } from "./token.ts"

export interface Descriptors {
  readonly connect: (process: ProcessIdentity, policy: AskedPolicy) => Promise<Result<McpConnection>>
  readonly disconnect: (process: ProcessIdentity, cause: EndCause) => Promise<void>
  /** After a restart: listens again, on the same ports, for the processes that lived on; forgets the others. */
  readonly restore: () => void
  readonly view: (sessionId: SessionId) => { readonly port: number; readonly scopes: number } | undefined
  readonly close: () => Promise<void>
}

export interface DescriptorsDeps {
  readonly ports: Ports
  readonly journal: Journal
  readonly store: Store
  readonly range: PortRange
  readonly lease: Lease
  readonly find: Sessions["find"]
  readonly living: Sessions["living"]
  readonly invoke: Invoke
}

const unavailable = (what: string): Result<never> =>
  fail("admission_unavailable", `${what}; ask again in a moment`)

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export const createDescriptors = (deps: DescriptorsDeps): Descriptors => {
  const { ports, journal, store, lease, find } = deps
  const table = scopesTable(store.database)
  const listeners = new Map<SessionId, Listener>()

  const current = (process: ProcessIdentity): Listener | undefined => {
    const listener = listeners.get(process.sessionId)
    return listener?.process.generation === process.generation ? listener : undefined
  }

  const open = (row: DescriptorRow, assignment: SessionAssignment): Result<Listener> =>
    openListener({ row, role: assignment.role, ports, lease, find, invoke: deps.invoke, journal })

  const provision = (process: ProcessIdentity, assignment: SessionAssignment): Result<Listener> => {
    const key = ports.randomBytes(processKeyBytes)
    for (const port of candidatePorts(deps.range, process.sessionId)) {
      const listener = open({ ...process, key, port }, assignment)
      if (listener.ok) return listener
    }
    return unavailable(`no port between ${deps.range.first} and ${deps.range.last} could be bound`)
  }

  const keep = (listener: Listener, scope: Scope, digest: string): Result<true> => {
    try {
      store.transaction(() => {
        table.putDescriptor(listener.row)
        table.putScope(listener.process, { digest, scope, createdAtMs: ports.clock.wallMs() })
      })
      return ok(true)
    } catch (error) {
      journal.record({ event: "store_write_failed", during: "descriptor", message: messageOf(error) })
      return unavailable("the supervisor's store cannot keep the descriptor")
    }
  }

  /** Adds the scope to the process's listener, making the listener when it is the first (D1, D2). */
  const add = (process: ProcessIdentity, assignment: SessionAssignment, scope: Scope): Result<Listener> => {
    const digest = scopeDigest(scope)
    const existing = current(process)
    const retained = existing?.digests() ?? new Set<string>()
    const decision = retain({ asked: digest, maximum: scopeDigest(assignment.maximum), retained })
    if (!decision.ok) return decision
    if (existing !== undefined && decision.value === "retained") return ok(existing)
    const listener = existing === undefined ? provision(process, assignment) : ok(existing)
    if (!listener.ok) return listener
    const kept = keep(listener.value, scope, digest)
    if (!kept.ok) {
      if (existing === undefined) void listener.value.close("exited")
      return kept
    }
    listener.value.add(digest, scope)
    if (existing === undefined) register(listener.value)
    journal.record({ event: "mcp_scope_added", ...process, digest, scopes: listener.value.digests().size })
    return listener
  }

  const register = (listener: Listener): void => {
    listeners.set(listener.process.sessionId, listener)
    const scopes = listener.digests().size
    journal.record({ event: "mcp_listening", ...listener.process, port: listener.row.port, scopes })
  }

  const connect = async (process: ProcessIdentity, policy: AskedPolicy): Promise<Result<McpConnection>> => {
    const before = processAuthority(process, find(process.sessionId))
    if (!before.ok) return before
    if (!(await lease.held(getterLeaseWaitMs))) return unavailable("this Computer has no lease at present")
    // The process may have ended while the lease was awaited; from here to the answer nothing waits.
    const authority = processAuthority(process, find(process.sessionId))
    if (!authority.ok) return authority
    const { maximum, manifestAgents } = authority.value
    const scope = requestedScope(policy, maximum, manifestAgents)
    if (!scope.ok) return scope
    const listener = add(process, authority.value, scope.value)
    return listener.ok ? ok(listener.value.connection(scopeDigest(scope.value))) : listener
  }

  const forget = (process: ProcessIdentity): void => {
    try {
      store.transaction(() => table.remove(process))
    } catch (error) {
      // The row names a generation that is never current again; the next start removes it.
      journal.record({ event: "store_write_failed", during: "descriptor", message: messageOf(error) })
    }
  }

  const drop = async (listener: Listener, cause: EndCause): Promise<void> => {
    listener.seal()
    listeners.delete(listener.process.sessionId)
    await listener.close(cause)
    journal.record({ event: "mcp_closed", ...listener.process, cause })
  }

  const disconnect = async (process: ProcessIdentity, cause: EndCause): Promise<void> => {
    forget(process)
    const listener = current(process)
    if (listener !== undefined) await drop(listener, cause)
  }

  const reopen = (row: DescriptorRow, assignment: SessionAssignment): void => {
    const listener = open(row, assignment)
    if (!listener.ok) {
      journal.record({
        event: "mcp_not_restored",
        sessionId: row.sessionId,
        generation: row.generation,
        port: row.port,
        message: listener.error.message,
      })
      forget(row)
      return
    }
    for (const { digest, scope } of table.scopesOf(row)) listener.value.add(digest, scope)
    register(listener.value)
  }

  const restore = (): void => {
    const living = deps.living()
    for (const row of table.descriptors()) {
      const view = find(row.sessionId)
      const lives = living.some(
        ({ sessionId, generation }) => sessionId === row.sessionId && generation === row.generation,
      )
      if (lives && view !== undefined) reopen(row, view.assignment)
      else forget(row)
    }
  }

  return {
    connect,
    disconnect,
    restore,
    view: (sessionId) => {
      const listener = listeners.get(sessionId)
      return listener && { port: listener.row.port, scopes: listener.digests().size }
    },
    close: async () => {
      await Promise.all([...listeners.values()].map((listener) => drop(listener, "shutting_down")))
    },
  }
}
