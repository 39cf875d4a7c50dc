/**
 * Reference model of the receiver: plain objects, everything worked out anew after each step by going over all of it
 * until nothing changes. It imports none of the rules and none of the store. Ids are those of the real answers.
 */

export type Status = "queued" | "running" | "completed" | "failed" | "interrupted" | "cancelled"

export interface MTurn {
  readonly id: string
  readonly session: string
  readonly sequence: number
  status: Status
  given: boolean
  stop: "interrupted" | "cancelled" | null
  readonly requester: string | null
  readonly origin: string | null
  errorCode: string | null
  result: unknown
}

export interface MHold {
  id: string
  readonly session: string
  readonly kind: "interrupt" | "recovery" | "storage_pressure"
  readonly by: string | null
  released: boolean
  readonly at: number
  readonly gap: { readonly turn: string | null; readonly generation: number } | null
}

export interface MSession {
  readonly id: string
  readonly env: string
  readonly deployment: string
  readonly agent: string
  readonly computer: string
  readonly parent: string | null
  readonly requester: string | null
  readonly depth: number
  readonly createdAt: number
  readonly idleMs: number | null
  status: "open" | "closing" | "closed"
  mode: "none" | "close" | "cancel"
  idleSince: number | null
  generation: number
  process: "none" | "starting" | "ready"
  losses: number
  readonly initial: string
  turns: MTurn[]
}

export interface MComputer {
  readonly id: string
  readonly env: string
  readonly template: string
  readonly deployment: string
  status: "available" | "deleting" | "deleted"
  residency: string
  desired: "idle" | "running" | "parked" | "deleted"
  wantedSince: number | null
  parkableSince: number | null
  unusedSince: number | null
  readonly deleteAfter: number | null
  epoch: number
  attached: boolean
  leased: boolean
  store: string | null
  /** What its supervisor is sent, in words, since the last attach. */
  sent: string[]
}

export interface MAgent {
  readonly template: string
  readonly idleMs: number | null
  readonly atoms: ReadonlySet<string>
}

export interface MDeployment {
  readonly id: string
  readonly env: string
  readonly agents: ReadonlyMap<string, MAgent>
  readonly deleteAfter: ReadonlyMap<string, number | null>
}

export interface Limits {
  readonly depth: number
  readonly running: number | null
}

const settled = (turn: MTurn): boolean => turn.status !== "queued" && turn.status !== "running"

export class World {
  now: number
  readonly deployments = new Map<string, MDeployment>()
  readonly current = new Map<string, string>()
  readonly sessions = new Map<string, MSession>()
  readonly computers = new Map<string, MComputer>()
  readonly holds: MHold[] = []
  readonly receipts = new Map<
    string,
    { readonly request: string; readonly answer: Record<string, unknown> }
  >()
  readonly cursors = new Map<string, { readonly list: string; readonly after: string }>()
  readonly questions: { readonly session: string; readonly turn: string; open: boolean }[] = []
  readonly limits: (env: string) => Limits

  constructor(now: number, limits: (env: string) => Limits) {
    this.now = now
    this.limits = limits
  }

  session(id: string): MSession {
    const session = this.sessions.get(id)
    if (session === undefined) throw new Error(`model lacks ${id}`)
    return session
  }

  computer(id: string): MComputer {
    const computer = this.computers.get(id)
    if (computer === undefined) throw new Error(`model lacks ${id}`)
    return computer
  }

  turn(id: string): MTurn | undefined {
    for (const session of this.sessions.values()) {
      const turn = session.turns.find((one) => one.id === id)
      if (turn !== undefined) return turn
    }
    return undefined
  }

  children(id: string): MSession[] {
    return [...this.sessions.values()].filter((one) => one.parent === id)
  }

  openChildren(id: string): MSession[] {
    return this.children(id).filter((one) => one.status !== "closed")
  }

  /** Itself and all descendants, whatever their status. */
  tree(id: string): MSession[] {
    return [this.session(id), ...this.children(id).flatMap((child) => this.tree(child.id))]
  }

  isDescendant(of: string, id: string): boolean {
    return of !== id && this.tree(of).some((one) => one.id === id)
  }

  ownHolds(id: string): MHold[] {
    return this.holds.filter((hold) => hold.session === id && !hold.released)
  }

  /** Own first, then interrupts of the parent, of its parent and so on. */
  effective(session: MSession): MHold[] {
    const inherited: MHold[] = []
    for (let at = session.parent; at !== null; at = this.session(at).parent)
      inherited.push(...this.ownHolds(at).filter((hold) => hold.kind === "interrupt"))
    return [...this.ownHolds(session.id), ...inherited]
  }

  held(session: MSession): boolean {
    return this.effective(session).length > 0
  }

  pending(session: MSession): MTurn[] {
    return session.turns.filter((turn) => !settled(turn))
  }

  head(session: MSession): MTurn | undefined {
    return this.pending(session)[0]
  }

  send(session: MSession, words: string): void {
    const computer = this.computer(session.computer)
    if (computer.attached) computer.sent.push(`${session.id} ${words}`)
  }

  settle(turn: MTurn, status: Status, errorCode: string | null, result: unknown = null): void {
    if (settled(turn)) return
    turn.status = status
    turn.given = false
    turn.errorCode = errorCode
    turn.result = result
    for (const question of this.questions) if (question.turn === turn.id) question.open = false
  }

  stop(turn: MTurn, status: "interrupted" | "cancelled"): void {
    if (turn.stop === "cancelled" || turn.stop === status) return
    turn.stop = status
    this.send(this.session(turn.session), `cancel_turn ${turn.id} ${status}`)
  }

  dropQueued(turn: MTurn): void {
    if (turn.given) this.stop(turn, "cancelled")
    this.settle(turn, "cancelled", "cancelled")
  }

  hold(session: MSession, kind: MHold["kind"], by: string | null, gap: MHold["gap"] = null): MHold {
    const hold: MHold = { id: "", session: session.id, kind, by, released: false, at: this.now, gap }
    this.holds.push(hold)
    return hold
  }

  /** What was given and did not start waits again. */
  unassign(session: MSession): void {
    const head = this.head(session)
    if (head?.status === "queued") head.given = false
  }

  interrupt(session: MSession, by: string | null): MHold {
    const hold = this.hold(session, "interrupt", by)
    for (const one of this.tree(session.id)) {
      if (one.status === "closed") continue
      const head = this.head(one)
      if (head?.status === "running") this.stop(head, "interrupted")
      this.unassign(one)
    }
    return hold
  }

  pressStorage(session: MSession): MHold {
    this.unassign(session)
    return this.hold(session, "storage_pressure", null)
  }

  begin(session: MSession, mode: "close" | "cancel"): void {
    if (session.status === "closed" || session.mode === "cancel" || session.mode === mode) return
    session.status = "closing"
    session.mode = mode
    session.idleSince = null
    for (const question of this.questions) {
      if (question.session !== session.id || !question.open) continue
      question.open = false
      this.send(session, `answer ${question.turn}`)
    }
  }

  cancelTree(session: MSession): void {
    for (const one of this.tree(session.id)) this.begin(one, "cancel")
  }

  /** The end of a process, told or concluded. */
  lose(
    session: MSession,
    turn: MTurn | undefined,
    how: {
      readonly stopTimeout: boolean
      readonly expected: boolean
      readonly next?: "restart" | "after_release" | "hold" | undefined
    },
  ): void {
    const counts = turn !== undefined && !settled(turn)
    if (turn !== undefined)
      this.settle(turn, "interrupted", how.stopTimeout ? "stop_timeout" : "process_lost")
    const neverReady = session.process === "starting"
    session.process = "none"
    const excused = !counts && !how.expected && this.held(session)
    if (how.expected && !counts) session.losses = 0
    else if (!excused) session.losses += 1
    this.unassign(session)
    const unasked = how.next === undefined ? neverReady || session.losses >= 3 : how.next === "hold"
    const looked = counts || (!how.expected && !excused && unasked)
    if (!looked || session.mode === "cancel") return
    this.hold(session, "recovery", null, { turn: counts ? turn.id : null, generation: session.generation })
  }

  takesRoom(computer: MComputer): boolean {
    if (computer.status === "deleted") return false
    if (["starting", "running", "restoring", "parking"].includes(computer.residency)) return true
    return computer.desired === "running" && computer.residency !== "unavailable"
  }

  private demand(computer: MComputer): "busy" | "wants" | "none" {
    let wants = false
    for (const session of this.sessions.values()) {
      if (session.computer !== computer.id || session.status === "closed") continue
      const head = this.head(session)
      if (session.process === "starting" || head?.status === "running" || head?.given === true) return "busy"
      if (head !== undefined && session.mode !== "cancel" && !this.held(session)) wants = true
    }
    return wants ? "wants" : "none"
  }

  private demands(): void {
    for (const computer of this.computers.values()) {
      if (computer.status !== "available") continue
      const used = [...this.sessions.values()].some(
        (session) => session.computer === computer.id && session.status !== "closed",
      )
      computer.unusedSince = used ? null : (computer.unusedSince ?? this.now)
      if (this.limits(computer.env).running === null) computer.desired = "running"
      else this.demandUnderLimit(computer)
    }
  }

  private demandUnderLimit(computer: MComputer): void {
    const demand = this.demand(computer)
    if (computer.desired !== "running") {
      computer.wantedSince = demand === "none" ? null : (computer.wantedSince ?? this.now)
      computer.parkableSince = null
      return
    }
    computer.wantedSince = null
    if (demand !== "none") computer.parkableSince = null
    else if (computer.residency === "cold" || computer.residency === "unavailable") {
      computer.desired = "idle"
      computer.parkableSince = null
    } else computer.parkableSince ??= this.now
  }

  private rooms(): void {
    const environments = new Set([...this.computers.values()].map((computer) => computer.env))
    for (const env of environments) {
      const limit = this.limits(env).running
      if (limit !== null) this.roomsOf(env, limit)
    }
  }

  private roomsOf(env: string, limit: number): void {
    const all = [...this.computers.values()].filter((computer) => computer.env === env)
    const first = (of: MComputer[], since: (computer: MComputer) => number | null) =>
      of
        .filter((computer) => since(computer) !== null)
        .sort((a, b) => (since(a) ?? 0) - (since(b) ?? 0) || (a.id < b.id ? -1 : 1))[0]
    for (;;) {
      const taken = all.filter((computer) => this.takesRoom(computer))
      const queue = all.filter((computer) => computer.wantedSince !== null && !this.takesRoom(computer))
      const next = first(queue, (computer) => computer.wantedSince)
      if (next === undefined) return
      const retried = all
        .filter((c) => c.status !== "deleted" && c.desired === "running" && c.residency === "unavailable")
        .sort((a, b) => (a.id < b.id ? -1 : 1))
      const full = taken.length + retried.length >= limit
      const patient = next.residency !== "unavailable" || this.now - (next.wantedSince ?? this.now) >= 10_000
      if (taken.length < limit && full && !patient) return
      if (taken.length < limit) {
        if (full && retried[0] !== undefined)
          Object.assign(retried[0], { desired: "idle", wantedSince: this.now })
        next.desired = "running"
        next.wantedSince = null
        continue
      }
      const parking = taken.filter((computer) => computer.desired === "parked").length
      const idlest = first(
        taken.filter((computer) => computer.residency === "running"),
        (computer) => computer.parkableSince,
      )
      if (idlest === undefined || parking >= Math.min(queue.length, taken.length + 1)) return
      idlest.desired = "parked"
      idlest.parkableSince = null
    }
  }

  private closeWork(session: MSession): void {
    const cancelled = session.mode === "cancel"
    if (cancelled || this.held(session)) {
      for (const turn of this.pending(session)) {
        if (turn.status === "queued") this.dropQueued(turn)
        else if (cancelled) this.stop(turn, "cancelled")
      }
    }
    if (this.pending(session).length > 0) return
    const children = this.openChildren(session.id)
    for (const child of children) this.begin(child, "close")
    if (children.length > 0) return
    session.status = "closed"
    session.process = "none"
    this.send(session, "release")
  }

  private isIdle(session: MSession): boolean {
    if (session.status !== "open" || this.ownHolds(session.id).length > 0) return false
    const head = this.head(session)
    return head === undefined || (head.status === "queued" && this.held(session))
  }

  idleDue(session: MSession): number | null {
    if (session.idleSince === null || session.idleMs === null) return null
    return this.openChildren(session.id).length > 0 ? null : session.idleSince + session.idleMs
  }

  private canRun(computer: MComputer): boolean {
    return (
      computer.status === "available" &&
      computer.attached &&
      computer.residency === "running" &&
      computer.desired === "running"
    )
  }

  private advanceOne(session: MSession): void {
    session.idleSince = this.isIdle(session) ? (session.idleSince ?? this.now) : null
    const due = this.idleDue(session)
    if (due !== null && due <= this.now) this.begin(session, "close")
    if (session.status === "closing") this.closeWork(session)
    const head = this.head(session)
    if (head?.status !== "queued" || head.given || session.mode === "cancel") return
    if (!this.canRun(this.computer(session.computer)) || this.held(session)) return
    head.given = true
    this.send(session, `dispatch ${head.id}`)
  }

  private picture(): string {
    return JSON.stringify([
      [...this.sessions.values()].map((one) => [
        one.status,
        one.mode,
        one.idleSince,
        one.turns.map((t) => [t.status, t.given, t.stop]),
      ]),
      [...this.computers.values()].map((one) => [
        one.desired,
        one.wantedSince,
        one.parkableSince,
        one.unusedSince,
      ]),
    ])
  }

  /** All consequences, by brute force. */
  advance(): void {
    for (let before = ""; ; ) {
      for (const session of this.sessions.values()) if (session.status !== "closed") this.advanceOne(session)
      this.demands()
      const after = this.picture()
      if (after === before) break
      before = after
    }
    this.rooms()
  }

  /** Time passes; what falls due does so at its own moment. */
  pass(ms: number): void {
    const end = this.now + ms
    for (;;) {
      const due = Math.min(
        ...[...this.sessions.values()].flatMap((session) => this.idleDue(session) ?? []),
        ...[...this.computers.values()].flatMap((computer) => this.deletionDue(computer) ?? []),
      )
      if (due > end) break
      this.now = Math.max(this.now, due)
      this.advance()
      for (const computer of this.computers.values()) {
        const at = this.deletionDue(computer)
        if (at === null || at > this.now) continue
        computer.status = "deleting"
        computer.desired = "deleted"
        computer.wantedSince = null
        computer.parkableSince = null
      }
      this.advance()
    }
    this.now = end
  }

  private deletionDue(computer: MComputer): number | null {
    if (computer.status !== "available" || computer.unusedSince === null || computer.deleteAfter === null)
      return null
    return computer.unusedSince + computer.deleteAfter
  }
}
