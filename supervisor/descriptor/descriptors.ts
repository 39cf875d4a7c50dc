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
import type { SessionTime } from "../session/time.ts"
import type { Store } from "../store/open.ts"
import { type DescriptorRow, type ScopeRow, type ScopesTable, scopesTable } from "../store/scopes.ts"
import { processAuthority } from "./authority.ts"
import { type EndCause, type Listener, openListener } from "./listener.ts"
import { candidatePorts } from "./port.ts"
import { retain } from "./scopes.ts"
import { processKeyBytes } from "./token.ts"

export interface DescriptorsDeps {
  readonly ports: Ports
  readonly time: SessionTime
  readonly journal: Journal
  readonly store: Store
  readonly range: PortRange
  readonly lease: Lease
  readonly find: Sessions["find"]
  readonly living: Sessions["living"]
  readonly invoke: Invoke
  /** A living process cannot be served where its headers say. */
  readonly unrestorable: (process: ProcessIdentity, message: string) => void
}

const nameOf = ({ sessionId, generation }: ProcessIdentity): string => `${sessionId} ${generation}`

const unavailable = (what: string): Result<never> =>
  fail("admission_unavailable", `${what}; ask again in a moment`)

export class Descriptors {
  readonly #deps: DescriptorsDeps
  readonly #table: ScopesTable
  readonly #listeners = new Map<SessionId, Listener>()

  constructor(deps: DescriptorsDeps) {
    this.#deps = deps
    this.#table = scopesTable(deps.store.database)
  }

  /** Answers `ctx.mcp.getConnectionOptions`. */
  async connect(process: ProcessIdentity, policy: AskedPolicy): Promise<Result<McpConnection>> {
    const before = this.#authority(process)
    if (!before.ok) return before
    // Judged first: what no lease would mend is not worth waiting for one.
    const scope = requestedScope(policy, before.value.maximum, before.value.manifestAgents)
    if (!scope.ok) return scope
    if (!(await this.#deps.lease.held(getterLeaseWaitMs)))
      return unavailable("this Computer has no lease at present")
    // The process may have ended while the lease was awaited; from here to the answer nothing waits.
    const authority = this.#authority(process)
    if (!authority.ok) return authority
    const listener = this.#retain(process, authority.value, scope.value)
    return listener.ok ? ok(listener.value.connection(scopeDigest(scope.value))) : listener
  }

  /** The process is gone or ending: its headers are dead, its open requests are answered, its listener closes. */
  async disconnect(process: ProcessIdentity, cause: EndCause): Promise<void> {
    this.#forget(process)
    const listener = this.#current(process)
    if (listener !== undefined) await this.#drop(listener, cause)
  }

  /** After a restart: listens again, on the same ports, for the processes that lived on; forgets the others. */
  restore(): void {
    const scopesOf = this.#table.scopeReader()
    const living = new Set(this.#deps.living().map(nameOf))
    for (const row of this.#table.descriptors()) {
      const assignment = living.has(nameOf(row)) ? this.#deps.find(row.sessionId)?.assignment : undefined
      if (assignment === undefined) this.#forget(row)
      else this.#reopen(row, assignment, scopesOf(row))
    }
  }

  view(sessionId: SessionId): { readonly port: number; readonly scopes: number } | undefined {
    const listener = this.#listeners.get(sessionId)
    return listener && { port: listener.row.port, scopes: listener.digests().size }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#listeners.values()].map((listener) => this.#drop(listener, "shutting_down")))
  }

  #authority(process: ProcessIdentity): Result<SessionAssignment> {
    return processAuthority(process, this.#deps.find(process.sessionId))
  }

  #current(process: ProcessIdentity): Listener | undefined {
    const listener = this.#listeners.get(process.sessionId)
    return listener?.process.generation === process.generation ? listener : undefined
  }

  /** Has the process's listener serve the scope, if it may be one more. */
  #retain(process: ProcessIdentity, assignment: SessionAssignment, scope: Scope): Result<Listener> {
    const asked = scopeDigest(scope)
    const existing = this.#current(process)
    const retained = existing?.digests() ?? new Set<string>()
    const decision = retain({ asked, maximum: scopeDigest(assignment.maximum), retained })
    if (!decision.ok) return decision
    if (existing === undefined) return this.#first(process, assignment, scope)
    if (decision.value === "retained") return ok(existing)
    const added = this.#add(existing, scope)
    return added.ok ? ok(existing) : added
  }

  /** D1 */
  #first(process: ProcessIdentity, assignment: SessionAssignment, scope: Scope): Result<Listener> {
    const listener = this.#provision(process, assignment)
    if (!listener.ok) return listener
    const added = this.#add(listener.value, scope)
    if (!added.ok) {
      void listener.value.close("exited")
      return added
    }
    this.#register(listener.value)
    return listener
  }

  #provision(process: ProcessIdentity, assignment: SessionAssignment): Result<Listener> {
    const { ports, range } = this.#deps
    const key = ports.randomBytes(processKeyBytes)
    for (const port of candidatePorts(range, process.sessionId)) {
      const listener = this.#open({ ...process, key, port }, assignment)
      if (listener.ok) return listener
    }
    return unavailable(`no port between ${range.first} and ${range.last} could be bound`)
  }

  #open(row: DescriptorRow, assignment: SessionAssignment): Result<Listener> {
    return openListener({ ...this.#deps, row, role: assignment.role })
  }

  /** D2 */
  #add(listener: Listener, scope: Scope): Result<true> {
    const digest = scopeDigest(scope)
    const createdAtMs = this.#deps.ports.clock.wallMs()
    const kept = this.#write(() => {
      this.#table.putDescriptor(listener.row)
      this.#table.putScope(listener.process, { digest, scope, createdAtMs })
      this.#deps.ports.reach("descriptor.before_commit")
    })
    if (!kept) return unavailable("the supervisor's store cannot keep the descriptor")
    this.#deps.ports.reach("descriptor.after_commit")
    listener.add(digest, scope)
    const scopes = listener.digests().size
    this.#deps.journal.record({ event: "mcp_scope_added", ...listener.process, digest, scopes })
    return ok(true)
  }

  #reopen(row: DescriptorRow, assignment: SessionAssignment, scopes: readonly ScopeRow[]): void {
    const { sessionId, generation, port } = row
    const listener = this.#open(row, assignment)
    if (listener.ok) {
      for (const { digest, scope } of scopes) listener.value.add(digest, scope)
      this.#register(listener.value)
      return
    }
    const { message } = listener.error
    this.#deps.journal.record({ event: "mcp_not_restored", sessionId, generation, port, message })
    this.#forget(row)
    this.#deps.unrestorable({ sessionId, generation }, `port ${port} of its MCP endpoint was taken meanwhile`)
  }

  #register(listener: Listener): void {
    this.#listeners.set(listener.process.sessionId, listener)
    const scopes = listener.digests().size
    const { port } = listener.row
    this.#deps.journal.record({ event: "mcp_listening", ...listener.process, port, scopes })
  }

  /** D3. A row that cannot be removed names a generation that is never current again; the next start removes it. */
  #forget(process: ProcessIdentity): void {
    this.#write(() => this.#table.remove(process))
  }

  async #drop(listener: Listener, cause: EndCause): Promise<void> {
    listener.seal()
    this.#listeners.delete(listener.process.sessionId)
    await listener.close(cause)
    this.#deps.journal.record({ event: "mcp_closed", ...listener.process, cause })
  }

  #write(work: () => void): boolean {
    try {
      this.#deps.store.transaction(work)
      return true
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      this.#deps.journal.record({ event: "store_write_failed", during: "descriptor", message })
      return false
    }
  }
}
