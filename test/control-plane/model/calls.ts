/** What the model expects of one tool call. New ids are taken from the real answer, which must then be new. */
import type { MHold, MSession, MTurn, World } from "./world.ts"

export interface Call {
  readonly session: string
  readonly computer: string
  readonly epoch: number
  readonly generation: number
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  /** Atoms of the presented scope: `operation`, or `operation agent`, or `operation placement agent`. */
  readonly atoms: ReadonlySet<string>
}

export type Expected =
  | { readonly ok: true; readonly value: Record<string, unknown> }
  | { readonly ok: false; readonly code: string; readonly field?: string }

export type Real =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly error: { readonly code: string } }

const no = (code: string, field?: string): Expected =>
  field === undefined ? { ok: false, code } : { ok: false, code, field }
const bad = (field: string): Expected => no("invalid_arguments", field)
const yes = (value: Record<string, unknown>): Expected => ({ ok: true, value })
const time = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

const sortedJson = (value: unknown): string =>
  JSON.stringify(value, (_, field) =>
    typeof field === "object" && field !== null && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1)))
      : field,
  )

const isSettled = (turn: MTurn): boolean => turn.status !== "queued" && turn.status !== "running"

export class Calls {
  readonly world: World
  constructor(world: World) {
    this.world = world
  }

  private authority(call: Call): Expected | undefined {
    const session = this.world.sessions.get(call.session)
    const computer = this.world.computers.get(call.computer)
    if (session === undefined || computer === undefined || session.computer !== computer.id)
      return no("authority_changed")
    if (call.epoch !== computer.epoch) return no("authority_changed")
    if (!computer.leased) return no("admission_unavailable")
    if (call.generation < session.generation) return no("authority_changed")
    if (call.generation > session.generation) return no("admission_unavailable")
    const drained = session.mode === "close" && this.world.pending(session).length === 0
    if (session.status === "closed" || session.mode === "cancel" || drained) return no("authority_changed")
    return this.world.held(session) ? no("authority_changed") : undefined
  }

  private agent(session: MSession) {
    const agent = this.world.deployments.get(session.deployment)?.agents.get(session.agent)
    if (agent === undefined) throw new Error("model lacks an agent")
    return agent
  }

  private denied(call: Call, atom: string): Expected | undefined {
    const maximum = this.agent(this.world.session(call.session)).atoms
    const within = [...call.atoms].every((one) => maximum.has(one))
    return within && call.atoms.has(atom) ? undefined : no("runtime_mcp_denied")
  }

  private deniedFamily(call: Call, operations: readonly string[]): Expected | undefined {
    const maximum = this.agent(this.world.session(call.session)).atoms
    const within = [...call.atoms].every((one) => maximum.has(one))
    const some = [...call.atoms].some((one) => operations.includes(one.split(" ")[0] ?? ""))
    return within && some ? undefined : no("runtime_mcp_denied")
  }

  private sees(caller: MSession, target: MSession): boolean {
    const { world } = this
    return (
      target.id === caller.id || target.requester === caller.id || world.isDescendant(caller.id, target.id)
    )
  }

  private owned(call: Call): MSession | undefined {
    const target = this.world.sessions.get(String(call.args["sessionId"]))
    return target !== undefined && this.world.isDescendant(call.session, target.id) ? target : undefined
  }

  private running(session: MSession): MTurn | undefined {
    return session.turns.find((turn) => turn.status === "running")
  }

  expect(call: Call, real: Real): Expected {
    const lost = this.authority(call)
    if (lost !== undefined) return lost
    switch (call.tool) {
      case "spawn":
      case "start":
        return this.create(call, real)
      case "enqueue":
        return this.enqueue(call, real)
      case "send_turn":
        return this.message(call, real)
      case "interrupt_turn":
        return this.interruptTurn(call, real)
      case "interrupt_session":
      case "close_session":
      case "cancel_session":
        return this.control(call, real)
      case "resume_session":
        return this.resume(call, real)
      case "inspect_session":
        return this.inspect(call)
      case "inspect_turn":
        return this.inspectTurn(call)
      case "wait_turn":
        return this.wait(call)
      case "list_sessions":
        return this.list(call, real)
      case "list_computers":
        return this.computers(call, real)
      case "list_agents":
        return this.agents(call)
      default:
        throw new Error(`model lacks ${call.tool}`)
    }
  }

  /** Receipt first; else the effect, whose answer is kept. */
  private once(call: Call, effect: () => Expected): Expected {
    const key = `${call.session} ${String(call.args["idempotencyKey"])}`
    const request = `${call.tool} ${sortedJson(call.args)}`
    const kept = this.world.receipts.get(key)
    if (kept !== undefined)
      return kept.request === request ? yes(kept.answer) : no("idempotency_conflict", "idempotencyKey")
    const answer = effect()
    if (answer.ok) this.world.receipts.set(key, { request, answer: answer.value })
    this.world.advance()
    return answer
  }

  private fresh(real: Real, field: string): string {
    const id = real.ok ? real.value[field] : undefined
    if (typeof id !== "string") return "accepted by the model"
    if (
      this.world.sessions.has(id) ||
      this.world.turn(id) !== undefined ||
      this.world.holds.some((hold) => hold.id === id)
    )
      throw new Error(`${field} ${id} is not new`)
    return id
  }

  private addTurn(
    session: MSession,
    id: string,
    from: { readonly requester: string | null; readonly origin: string | null },
  ): MTurn {
    const turn: MTurn = {
      id,
      session: session.id,
      sequence: session.turns.length + 1,
      status: "queued",
      given: false,
      stop: null,
      ...from,
      errorCode: null,
      result: null,
    }
    session.turns.push(turn)
    return turn
  }

  private create(call: Call, real: Real): Expected {
    const { world } = this
    const caller = world.session(call.session)
    const deployment = world.deployments.get(caller.deployment)
    const agent = deployment?.agents.get(String(call.args["agent"]))
    if (deployment === undefined || agent === undefined) return no("target_not_published", "agent")
    const computerId = call.args["computerId"]
    const placement = computerId === undefined ? "new" : "caller"
    const denied = this.denied(call, `${call.tool} ${placement} ${String(call.args["agent"])}`)
    if (denied !== undefined) return denied
    if (computerId !== undefined && computerId !== caller.computer)
      return no("runtime_mcp_denied", "computerId")
    return this.once(call, () => {
      if (caller.parent !== null) return no("root_session_required")
      if (caller.depth >= world.limits(caller.env).depth) return no("delegation_depth_exceeded")
      const id = this.fresh(real, "sessionId")
      const turnId = this.fresh(real, "turnId")
      const owned = call.tool === "spawn"
      if (owned && caller.idleSince !== null) caller.idleSince = world.now
      this.addSession({
        id,
        env: caller.env,
        deployment: deployment.id,
        agent: String(call.args["agent"]),
        computer: typeof computerId === "string" ? computerId : undefined,
        parent: owned ? caller.id : null,
        requester: caller.id,
        origin: this.running(caller)?.id ?? null,
        depth: caller.depth + 1,
        turnId,
      })
      return yes({ sessionId: id, turnId, sequence: 1 })
    })
  }

  /** `computer` undefined: a new one, known by its Session until the runner learns its id. */
  addSession(made: {
    readonly id: string
    readonly env: string
    readonly deployment: string
    readonly agent: string
    readonly computer: string | undefined
    readonly parent: string | null
    readonly requester: string | null
    readonly origin: string | null
    readonly depth: number
    readonly turnId: string
  }): MSession {
    const { world } = this
    const deployment = world.deployments.get(made.deployment)
    const agent = deployment?.agents.get(made.agent)
    if (deployment === undefined || agent === undefined) throw new Error("model lacks an agent")
    const computer = made.computer ?? this.computerIdOf(made.id)
    if (!world.computers.has(computer))
      world.computers.set(computer, {
        id: computer,
        env: made.env,
        template: agent.template,
        deployment: made.deployment,
        status: "available",
        residency: "cold",
        desired: "idle",
        wantedSince: null,
        parkableSince: null,
        unusedSince: null,
        deleteAfter: deployment.deleteAfter.get(agent.template) ?? null,
        epoch: 0,
        attached: false,
        leased: false,
        store: null,
        sent: [],
      })
    const session: MSession = {
      id: made.id,
      env: made.env,
      deployment: made.deployment,
      agent: made.agent,
      computer,
      parent: made.parent,
      requester: made.requester,
      depth: made.depth,
      createdAt: world.now,
      idleMs: agent.idleMs,
      status: "open",
      mode: "none",
      idleSince: null,
      generation: 0,
      process: "none",
      losses: 0,
      initial: made.turnId,
      turns: [],
    }
    world.sessions.set(session.id, session)
    this.addTurn(session, made.turnId, { requester: made.requester, origin: made.origin })
    return session
  }

  /** Set by the runner: the id that a new Computer really got. */
  computerIdOf: (session: string) => string = () => {
    throw new Error("the runner tells which Computer is new")
  }

  private enqueue(call: Call, real: Real): Expected {
    const { world } = this
    const caller = world.session(call.session)
    const target = world.sessions.get(String(call.args["sessionId"]))
    if (target === undefined || target.env !== caller.env) return bad("sessionId")
    const knows = this.sees(caller, target) || target.turns.some((turn) => turn.requester === caller.id)
    if (target.status !== "open" && !knows) return bad("sessionId")
    const denied = this.denied(call, `enqueue ${target.agent}`)
    if (denied !== undefined) return denied
    return this.once(call, () => {
      if (target.status !== "open") return bad("sessionId")
      const turn = this.addTurn(target, this.fresh(real, "turnId"), {
        requester: caller.id,
        origin: this.running(caller)?.id ?? null,
      })
      return yes({ sessionId: target.id, turnId: turn.id, sequence: turn.sequence })
    })
  }

  private message(call: Call, real: Real): Expected {
    const { world } = this
    const session = this.owned(call)
    if (session === undefined) return bad("sessionId")
    const turn = session.turns.find((one) => one.id === call.args["turnId"])
    if (turn === undefined) return bad("turnId")
    const denied = this.denied(call, `send_turn ${session.agent}`)
    if (denied !== undefined) return denied
    return this.once(call, () => {
      if (turn.status !== "running" || turn.stop !== null || world.held(session))
        return no("message_closed", "turnId")
      world.send(session, `message ${turn.id}`)
      return yes({ id: this.fresh(real, "id"), turnId: turn.id })
    })
  }

  private interruptTurn(call: Call, real: Real): Expected {
    const session = this.owned(call)
    if (session === undefined) return bad("sessionId")
    const turn = session.turns.find((one) => one.id === call.args["turnId"])
    if (turn === undefined) return bad("turnId")
    const denied = this.denied(call, `interrupt_turn ${session.agent}`)
    if (denied !== undefined) return denied
    return this.once(call, () => {
      if (turn.status !== "running") return no("turn_not_interruptible", "turnId")
      this.world.stop(turn, "interrupted")
      return yes({ id: this.fresh(real, "id"), sessionId: session.id, turnId: turn.id, status: "accepted" })
    })
  }

  private control(call: Call, real: Real): Expected {
    const { world } = this
    const session = this.owned(call)
    if (session === undefined) return bad("sessionId")
    const denied = this.denied(call, `${call.tool} ${session.agent}`)
    if (denied !== undefined) return denied
    return this.once(call, () => {
      if (call.tool === "interrupt_session") {
        if (session.status === "closed") return bad("sessionId")
        const hold = world.interrupt(session, call.session)
        hold.id = this.fresh(real, "holdId")
        return yes({ id: this.fresh(real, "id"), sessionId: session.id, status: "accepted", holdId: hold.id })
      }
      if (call.tool === "close_session") world.begin(session, "close")
      else world.cancelTree(session)
      world.advance()
      return yes({ sessionId: session.id, status: session.status })
    })
  }

  private mayRelease(caller: string, hold: MHold): boolean {
    if (this.world.session(hold.session).status === "closed") return false
    if (!this.world.isDescendant(caller, hold.session)) return false
    if (hold.kind === "interrupt") return hold.by === caller
    return hold.kind === "recovery"
  }

  private resume(call: Call, real: Real): Expected {
    const { world } = this
    const session = this.owned(call)
    if (session === undefined) return bad("sessionId")
    const hold = world.holds.find((one) => one.id === call.args["holdId"] && one.session === session.id)
    if (hold === undefined) return bad("holdId")
    const denied = this.denied(call, `resume_session ${session.agent}`)
    if (denied !== undefined) return denied
    return this.once(call, () => {
      if (session.status === "closed") return bad("sessionId")
      if (!this.mayRelease(call.session, hold)) return bad("holdId")
      this.release(hold)
      return yes({ id: this.fresh(real, "id"), sessionId: session.id, status: "accepted", holdId: hold.id })
    })
  }

  release(hold: MHold): void {
    if (!hold.released && hold.kind === "recovery") this.world.session(hold.session).losses = 0
    hold.released = true
  }

  private view(caller: MSession, session: MSession): Record<string, unknown> {
    const { world } = this
    const initial = session.turns.find((turn) => turn.id === session.initial)
    let root = session
    while (root.parent !== null) root = world.session(root.parent)
    return {
      id: session.id,
      agent: session.agent,
      template: this.agent(session).template,
      deployment_id: session.deployment,
      computer_id: session.computer,
      root_session_id: root.id,
      parent_session_id: session.parent,
      requester_session_id: session.requester,
      initial_turn: initial === undefined ? null : { id: initial.id, status: initial.status },
      status: session.status,
      close_after_idle_ms: session.idleMs,
      idle_since: time(session.idleSince),
      holds: world.effective(session).map((hold) => ({
        id: hold.id,
        session_id: hold.session,
        kind: hold.kind,
        created_at: time(hold.at),
        ...(hold.gap === null
          ? {}
          : { recovery_gap: { turn_id: hold.gap.turn, generation: hold.gap.generation } }),
        can_release: this.mayRelease(caller.id, hold),
      })),
      created_at: time(session.createdAt),
    }
  }

  private inspect(call: Call): Expected {
    const caller = this.world.session(call.session)
    const target = this.world.sessions.get(String(call.args["sessionId"]))
    if (target === undefined || !this.sees(caller, target)) return bad("sessionId")
    return this.denied(call, `inspect_session ${target.agent}`) ?? yes(this.view(caller, target))
  }

  private seenTurn(call: Call): { readonly session: MSession; readonly turn: MTurn } | Expected {
    const caller = this.world.session(call.session)
    const session = this.world.sessions.get(String(call.args["sessionId"]))
    const turn = session?.turns.find((one) => one.id === call.args["turnId"])
    if (session === undefined) return bad("sessionId")
    const own = turn?.requester === caller.id
    if (!own && !this.sees(caller, session)) return bad("sessionId")
    if (turn === undefined) return bad("turnId")
    return this.denied(call, `inspect_turn ${session.agent}`) ?? { session, turn }
  }

  private outcome(turn: MTurn): Record<string, unknown> {
    return turn.status === "completed"
      ? { status: "completed", result: turn.result }
      : { status: turn.status, error: { code: turn.errorCode } }
  }

  private blocked(caller: string, session: MSession, turn: MTurn): boolean {
    const { world } = this
    const limit = world.limits(session.env).running
    const own = world.session(caller).computer
    if (limit === null || turn.status !== "queued" || turn.given || world.held(session)) return false
    if (session.computer === own || world.takesRoom(world.computer(session.computer))) return false
    // Room that is left when nothing but the caller's own Computer runs.
    return limit - 1 < 1
  }

  private inspectTurn(call: Call): Expected {
    const seen = this.seenTurn(call)
    if ("ok" in seen) return seen
    const { session, turn } = seen
    const identity = { id: turn.id, sessionId: session.id }
    if (isSettled(turn)) return yes({ ...identity, ...this.outcome(turn) })
    const blocked = this.blocked(call.session, session, turn)
    return yes({ ...identity, status: turn.status, ...(blocked ? { waitBlocked: true } : {}) })
  }

  /** `timeout`: not settled now. */
  private wait(call: Call): Expected {
    const seen = this.seenTurn(call)
    if ("ok" in seen) return seen
    if (isSettled(seen.turn)) return yes({ status: "settled", outcome: this.outcome(seen.turn) })
    if (this.blocked(call.session, seen.session, seen.turn)) return no("capacity_wait_blocked")
    return yes({ status: "timeout" })
  }

  private agents(call: Call): Expected {
    const caller = this.world.session(call.session)
    const denied = this.deniedFamily(call, ["spawn", "start"])
    if (denied !== undefined) return denied
    if (caller.parent !== null) return no("root_session_required")
    const operation = String(call.args["operation"])
    const keys = [...(this.world.deployments.get(caller.deployment)?.agents.keys() ?? [])].sort()
    const granted = keys.filter(
      (key) => call.atoms.has(`${operation} new ${key}`) || call.atoms.has(`${operation} caller ${key}`),
    )
    return yes({ deploymentId: caller.deployment, agents: granted.map((agent) => ({ agent })) })
  }

  /** A page of `rows`, which are sorted newest first. */
  private page<Row extends { readonly id: string }>(
    rows: readonly Row[],
    asked: { readonly list: string; readonly size: number; readonly cursor: unknown },
    real: Real,
  ): { readonly rows: readonly Row[]; readonly next: unknown } | undefined {
    const from = asked.cursor === undefined ? undefined : this.world.cursors.get(String(asked.cursor))
    if (asked.cursor !== undefined && from?.list !== asked.list) return undefined
    const rest = rows.filter((row) => from === undefined || row.id < from.after)
    const shown = rest.slice(0, asked.size)
    const next = real.ok ? real.value["next_cursor"] : undefined
    const last = shown.at(-1)
    if (rest.length <= asked.size || last === undefined) return { rows: shown, next: undefined }
    if (typeof next === "string") this.world.cursors.set(next, { list: asked.list, after: last.id })
    return { rows: shown, next: next ?? "a cursor" }
  }

  private list(call: Call, real: Real): Expected {
    const caller = this.world.session(call.session)
    const denied = this.deniedFamily(call, ["inspect_session"])
    if (denied !== undefined) return denied
    const { relation, status, limit, cursor } = call.args
    const statuses = Array.isArray(status) ? status : ["open", "closing", "closed"]
    const rows = [...this.world.sessions.values()]
      .filter((one) => (relation === "owned" ? one.parent : one.requester) === caller.id)
      .filter((one) => statuses.includes(one.status) && call.atoms.has(`inspect_session ${one.agent}`))
      .sort((a, b) => (a.id < b.id ? 1 : -1))
    const list = `${caller.id} sessions ${String(relation)} ${[...statuses].sort().join()}`
    const page = this.page(rows, { list, size: typeof limit === "number" ? limit : 50, cursor }, real)
    if (page === undefined) return bad("cursor")
    return yes({
      sessions: page.rows.map((row) => this.view(caller, row)),
      ...(page.next === undefined ? {} : { next_cursor: page.next }),
    })
  }

  private computers(call: Call, real: Real): Expected {
    const { world } = this
    const caller = world.session(call.session)
    const denied = this.denied(call, "list_computers")
    if (denied !== undefined) return denied
    const related = [...world.sessions.values()].filter((one) => this.sees(caller, one))
    const rows = [...new Set(related.map((one) => one.computer))].map((id) => world.computer(id))
    rows.sort((a, b) => (a.id < b.id ? 1 : -1))
    const page = this.page(
      rows,
      { list: `${caller.id} computers`, size: 50, cursor: call.args["cursor"] },
      real,
    )
    if (page === undefined) return bad("cursor")
    return yes({
      computers: page.rows.map((row) => ({
        id: row.id,
        template: row.template,
        deployment_id: row.deployment,
        status: row.status,
        residency: row.residency,
        delete_after_unused_ms: row.deleteAfter,
        unused_since: time(row.unusedSince),
      })),
      ...(page.next === undefined ? {} : { next_cursor: page.next }),
    })
  }
}
