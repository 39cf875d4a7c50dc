/**
 * Runs one history: the same actions on the real receiver and on the model, every answer compared, and after each
 * action the whole of what both can show. Actions are plain numbers, so that fast-check can shrink them.
 */
import { isDeepStrictEqual } from "node:util"
import type { Content, Json, TurnOutcome } from "@computerd/protocol/content"
import {
  ComputerId,
  EnvironmentKey,
  Epoch,
  Generation,
  SessionId,
  type StoreId,
  TurnId,
} from "@computerd/protocol/ids"
import type { AdmissionAnswer, LinkCommand, LinkEvent } from "@computerd/protocol/link"
import { createRig, type Rig, text } from "../rig.ts"
import { type Call, Calls, type Expected, type Real } from "./calls.ts"
import { agentKeys, manifestFor, modelFor, presentedScope } from "./scopes.ts"
import { type MComputer, type MSession, type MTurn, World } from "./world.ts"

export interface Action {
  readonly kind: number
  readonly a: number
  readonly b: number
  readonly c: number
}

export interface HistoryOptions {
  readonly environments: readonly string[]
  /** Compares all that can be seen after every so many actions. */
  readonly compareEvery: number
  readonly path?: string
}

const limitsOf = (env: string) =>
  ({
    one: { depth: 3, running: null },
    two: { depth: 2, running: 1 },
    three: { depth: 8, running: 2 },
  })[env] ?? { depth: 3, running: null }

const pick = <Item>(items: readonly Item[], at: number): Item | undefined =>
  items[at % Math.max(items.length, 1)]

const unknownSession = "ses_01900000-0000-7000-8000-ffffffffffff"
const unknownTurn = "trn_01900000-0000-7000-8000-ffffffffffff"
const unknownHold = "hld_01900000-0000-7000-8000-ffffffffffff"

/** Words for people differ in nothing that a model should know. */
const comparable = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !["message", "reason", "updated_at"].includes(key))
      .map(([key, field]) => [key, comparable(field)]),
  )
}

const withoutComputerTimes = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null || !("computers" in value)) return value
  const { computers } = value
  if (!Array.isArray(computers)) return value
  return { ...value, computers: computers.map(({ created_at: _, error: __, ...rest }) => rest) }
}

interface Link {
  store: StoreId
  seq: number
  received: number
}

interface Wait {
  readonly call: Call
  readonly deadline: number
  readonly promise: Promise<AdmissionAnswer>
  answered: boolean
}

export class Mismatch extends Error {}

export class History {
  readonly rig: Rig
  readonly world: World
  readonly calls: Calls
  readonly options: HistoryOptions
  readonly links = new Map<string, Link>()
  readonly waits: Wait[] = []
  readonly tally = new Map<string, number>()
  version = new Map<string, number>()
  step = 0

  constructor(options: HistoryOptions) {
    this.options = options
    this.rig = createRig({
      ...(options.path === undefined ? {} : { path: options.path }),
      settings: {
        leaseMs: 1_000_000_000,
        environments: (environment) => {
          const { depth, running } = limitsOf(environment)
          return { delegationDepthMax: depth, runningComputersMax: running }
        },
      },
    })
    this.world = new World(this.rig.ports.now(), limitsOf)
    this.calls = new Calls(this.world)
    this.calls.computerIdOf = (session) => {
      const seen = this.rig.receiver.snapshot().sessions.find((one) => one.id === session)
      if (seen === undefined) throw new Mismatch(`the real receiver has no ${session}`)
      return seen.computerId
    }
    for (const env of options.environments) this.publish(env)
  }

  private count(what: string): void {
    this.tally.set(what, (this.tally.get(what) ?? 0) + 1)
  }

  private check(what: string, real: unknown, model: unknown): void {
    if (isDeepStrictEqual(real, model)) return
    throw new Mismatch(
      `step ${this.step}, ${what}\nreal:  ${JSON.stringify(real)}\nmodel: ${JSON.stringify(model)}`,
    )
  }

  private publish(env: string): void {
    const version = this.version.get(env) ?? 0
    this.version.set(env, version + 1)
    const key = EnvironmentKey.parse(env)
    const { deploymentId } = this.rig.receiver.addDeployment(key, manifestFor(Math.min(version, 1)))
    this.world.deployments.set(deploymentId, modelFor(deploymentId, env, Math.min(version, 1)))
    this.world.current.set(env, deploymentId)
  }

  private sessions(): MSession[] {
    return [...this.world.sessions.values()]
  }

  /** Those that could call: their Computer has had a supervisor. Mostly those that are really able to. */
  private caller(at: number): MSession | undefined {
    const able = this.sessions().filter(
      (one) => one.generation > 0 && one.status !== "closed" && !this.world.held(one),
    )
    const some = this.sessions().filter((one) => this.links.has(one.computer))
    const parents = able.filter((one) => this.world.openChildren(one.id).length > 0)
    if (at % 8 < 4 && parents.length > 0) return pick(parents, at >> 3)
    return at % 8 === 7 || able.length === 0 ? pick(some, at >> 3) : pick(able, at >> 3)
  }

  async run(action: Action): Promise<void> {
    this.step += 1
    const actions = [
      this.start,
      this.start,
      this.attach,
      this.attach,
      this.attach,
      this.detach,
      this.process,
      this.process,
      this.process,
      this.process,
      this.startTurn,
      this.startTurn,
      this.startTurn,
      this.settle,
      this.settle,
      this.settle,
      this.exit,
      this.lose,
      this.report,
      this.report,
      this.report,
      this.remove,
      this.control,
      this.pass,
      this.pass,
      this.restart,
      this.redeploy,
      this.stale,
      this.ask,
      this.bringUp,
      this.bringUp,
      this.bringUp,
      this.bringUp,
      this.create,
      this.create,
      this.create,
      this.create,
      this.call,
      this.call,
      this.call,
      this.call,
      this.call,
      this.call,
      this.call,
      this.call,
      this.together,
      this.wait,
      this.wait,
    ]
    const chosen = pick(actions, action.kind) ?? this.pass
    await chosen.call(this, action)
    await this.settleUp()
  }

  /** After each action: commands, waits and, now and then, everything. */
  private async settleUp(): Promise<void> {
    this.bindHolds()
    for (const computer of this.world.computers.values()) this.compareCommands(computer)
    for (const wait of this.waits) await this.compareWait(wait)
    if (this.step % this.options.compareEvery === 0) this.compareAll()
  }

  private bindHolds(): void {
    if (this.world.holds.every((hold) => hold.id !== "")) return
    const known = new Set(this.world.holds.map((hold) => hold.id))
    const seen = this.rig.receiver.snapshot().sessions.flatMap((session) => session.holds)
    for (const hold of this.world.holds.filter((one) => one.id === "")) {
      const found = seen.find(
        (one) => one.sessionId === hold.session && one.kind === hold.kind && !known.has(one.id),
      )
      if (found === undefined)
        throw new Mismatch(`step ${this.step}: the real receiver lacks a ${hold.kind} hold`)
      hold.id = found.id
      known.add(found.id)
    }
  }

  private words(command: LinkCommand): string[] {
    switch (command.type) {
      case "assign":
        return []
      case "dispatch":
        return [`${command.sessionId} dispatch ${command.turn.id}`]
      case "cancel_turn":
        return [`${command.sessionId} cancel_turn ${command.turnId} ${command.status}`]
      case "message":
        return [`${command.sessionId} message ${command.turnId}`]
      case "answer":
        return [`${command.sessionId} answer ${command.turnId}`]
      case "release":
        return [`${command.sessionId} release`]
    }
  }

  private compareCommands(computer: MComputer): void {
    const link = this.links.get(computer.id)
    if (link === undefined || !computer.attached) return
    const id = ComputerId.parse(computer.id)
    const fresh = this.rig.receiver.commandsAfter(id, link.received)
    link.received = fresh.at(-1)?.seq ?? link.received
    this.rig.receiver.acknowledge(id, link.received)
    const bySession = (words: readonly string[]) =>
      [...words].sort((x, y) =>
        x.slice(0, 40) < y.slice(0, 40) ? -1 : x.slice(0, 40) > y.slice(0, 40) ? 1 : 0,
      )
    const sent = computer.sent.splice(0)
    this.check(
      `commands of ${computer.id}`,
      bySession(fresh.flatMap(({ body }) => this.words(body))),
      bySession(sent),
    )
  }

  private async compareWait(wait: Wait): Promise<void> {
    if (wait.answered) return
    const turn = this.world.turn(String(wait.call.args["turnId"]))
    const over = turn !== undefined && turn.status !== "queued" && turn.status !== "running"
    if (!over && this.world.now < wait.deadline) return
    wait.answered = true
    const real = await wait.promise
    const model = over
      ? this.calls.expect(wait.call, { ok: false, error: { code: "none" } })
      : { ok: true as const, value: { status: "timeout" } }
    this.compareAnswer(`wait_turn ${String(wait.call.args["turnId"])}`, real, model)
  }

  private compareAll(): void {
    const snapshot = this.rig.receiver.snapshot()
    const real = snapshot.sessions.map((one) => [
      one.id,
      one.status,
      one.process,
      one.generation,
      one.computerId,
      one.parent,
      one.holds.map((hold) => `${hold.id} ${hold.kind}`).sort(),
      one.turns.map((turn) => [turn.id, turn.sequence, turn.status, turn.error?.code ?? null]),
    ])
    const model = this.sessions().map((one) => [
      one.id,
      one.status,
      one.process,
      one.generation,
      one.computer,
      one.parent,
      this.world
        .effective(one)
        .map((hold) => `${hold.id} ${hold.kind}`)
        .sort(),
      one.turns.map((turn) => [turn.id, turn.sequence, turn.status, turn.errorCode]),
    ])
    const byId = (rows: unknown[][]) => rows.sort((x, y) => (String(x[0]) < String(y[0]) ? -1 : 1))
    this.check("all Sessions", byId(real), byId(model))
    const computers = snapshot.computers.map((one) => [
      one.id,
      one.status,
      one.residency,
      one.desired,
      one.attached,
    ])
    const expected = [...this.world.computers.values()]
      .filter((one) => one.status !== "deleted")
      .map((one) => [one.id, one.status, one.residency, one.desired, one.attached])
    this.check("all Computers", byId(computers), byId(expected))
    this.invariants(snapshot)
  }

  /** What must hold whatever the model says. */
  private invariants(snapshot: ReturnType<Rig["receiver"]["snapshot"]>): void {
    const byId = new Map(snapshot.sessions.map((session) => [session.id, session]))
    for (const session of snapshot.sessions) {
      const running = session.turns.filter((turn) => turn.status === "running")
      if (running.length > 1) throw new Mismatch(`${session.id} runs ${running.length} Turns`)
      const unsettled = session.turns.filter((turn) => turn.settledAtMs === null)
      if (session.status === "closed" && unsettled.length > 0)
        throw new Mismatch(`${session.id} closed with work`)
      const parent = session.parent === null ? undefined : byId.get(session.parent)
      if (parent?.status === "closed" && session.status !== "closed")
        throw new Mismatch(`${session.id} outlives its parent`)
    }
  }

  private compareAnswer(what: string, real: AdmissionAnswer, model: Expected): void {
    const seen = real.ok
      ? { ok: true, value: withoutComputerTimes(comparable(real.value)) }
      : {
          ok: false,
          code: real.error.code,
          ...(real.error.field === undefined ? {} : { field: real.error.field }),
        }
    this.check(what, seen, comparable(model))
    this.count(real.ok ? `${what.split(" ")[0]} ok` : `${what.split(" ")[0]} ${real.error.code}`)
  }

  private start({ a, b, c }: Action): void {
    if (this.sessions().length > 400) return
    const env = pick(this.options.environments, a) ?? "one"
    const agent = pick([...agentKeys, "absent"], b) ?? "lead"
    const key = c % 4 === 0 ? "same" : `start-${this.step}`
    const request = { agent, input: text("go"), sessionKey: undefined }
    const real = this.rig.receiver.startSession({
      environment: EnvironmentKey.parse(env),
      agent,
      input: request.input,
      idempotencyKey: key,
    })
    const model = this.expectStart({ env, agent, key }, real)
    this.check(`start from outside ${agent}`, real.ok ? real.value : real.error.code, model)
  }

  private expectStart(
    asked: { env: string; agent: string; key: string },
    real: ReturnType<Rig["receiver"]["startSession"]>,
  ): unknown {
    const receiptKey = `environment:${asked.env} ${asked.key}`
    const kept = this.world.receipts.get(receiptKey)
    if (kept !== undefined) return kept.request === asked.agent ? kept.answer : "idempotency_conflict"
    const deployment = this.world.deployments.get(this.world.current.get(asked.env) ?? "")
    if (deployment === undefined) return "not_found"
    if (!deployment.agents.has(asked.agent)) return "target_not_published"
    if (!real.ok) return "admitted"
    const { sessionId, turnId } = real.value
    this.calls.addSession({
      id: sessionId,
      env: asked.env,
      deployment: deployment.id,
      agent: asked.agent,
      computer: undefined,
      parent: null,
      requester: null,
      origin: null,
      depth: 0,
      turnId,
    })
    this.world.receipts.set(receiptKey, { request: asked.agent, answer: { ...real.value } })
    this.world.advance()
    return { sessionId, turnId, sequence: 1 }
  }

  private computer(at: number): MComputer | undefined {
    return pick([...this.world.computers.values()], at)
  }

  private attach({ a, b }: Action): void {
    const waiting = [...this.world.computers.values()].filter(
      (one) => !one.attached && one.desired === "running",
    )
    const computer = a % 4 === 0 ? this.computer(a >> 2) : pick(waiting, a >> 2)
    if (computer === undefined) return
    const id = ComputerId.parse(computer.id)
    const old = this.links.get(computer.id)
    const fresh = old === undefined || b % 8 === 0
    const link: Link = fresh ? { store: this.rig.ports.newId("str"), seq: 0, received: 0 } : old
    const frame = {
      kind: "attach" as const,
      protocol: 1,
      computerId: id,
      bootId: "b",
      storeId: link.store,
      lastEpoch: 0,
      received: link.received,
      version: "0",
      processes: [],
    }
    const real = this.rig.receiver.attach(id, frame)
    const refused = this.attachRefusal(computer, link.store)
    this.check(`attach ${computer.id}`, real.ok ? "ok" : real.error.code, refused ?? "ok")
    if (!real.ok) return
    this.attached(computer, link)
    link.received = real.value.commandSeq
    this.links.set(computer.id, link)
    const run = real.value.run.map(({ assignment, turn, cancel }) => [
      assignment.sessionId,
      assignment.generation,
      turn?.id ?? null,
      cancel ?? null,
    ])
    this.check(`run of ${computer.id}`, run.sort(), this.expectedRun.sort())
    this.world.advance()
  }

  private expectedRun: (string | number | null)[][] = []

  private attachRefusal(computer: MComputer, store: string): string | undefined {
    if (computer.status !== "available") return "unauthorized"
    return computer.leased && computer.store !== null && computer.store !== store
      ? "admission_unavailable"
      : undefined
  }

  private attached(computer: MComputer, link: Link): void {
    const here = this.sessions().filter((one) => one.computer === computer.id && one.status !== "closed")
    computer.attached = false
    if (computer.store !== null && computer.store !== link.store)
      for (const session of here) this.loseThere(session)
    this.expectedRun = here.map((session) => {
      const head = this.world.head(session)
      const turn = head?.status === "running" || head?.given === true ? head : undefined
      return [session.id, session.generation, turn?.id ?? null, turn?.stop ?? null]
    })
    Object.assign(computer, {
      attached: true,
      leased: true,
      residency: "running",
      epoch: computer.epoch + 1,
      store: link.store,
    })
    computer.sent.length = 0
  }

  private loseThere(session: MSession): void {
    const head = this.world.head(session)
    const turn = head?.status === "running" || head?.given === true ? head : undefined
    this.world.lose(session, turn, { stopTimeout: false, expected: turn === undefined })
  }

  private detach({ a }: Action): void {
    if (a % 3 !== 0) return
    const computer = this.computer(a >> 2)
    if (computer === undefined || !this.links.has(computer.id)) return
    this.rig.receiver.detach(ComputerId.parse(computer.id), Epoch.parse(computer.epoch))
    computer.attached = false
    computer.leased = false
    computer.sent.length = 0
  }

  /** Sends one event as the supervisor of the Session's Computer; says whether there is one. */
  private emit(session: MSession, event: LinkEvent): boolean {
    const link = this.links.get(session.computer)
    const computer = this.world.computer(session.computer)
    if (link === undefined || computer.epoch === 0) return false
    const real = this.rig.receiver.event(
      ComputerId.parse(computer.id),
      Epoch.parse(computer.epoch),
      link.seq + 1,
      this.world.now,
      event,
    )
    if (!real.ok) throw new Mismatch(`event refused: ${real.error.message}`)
    link.seq += 1
    return true
  }

  private onComputer(at: number, wanted: (session: MSession) => boolean): MSession | undefined {
    return pick(
      this.sessions().filter((one) => this.links.has(one.computer) && one.status !== "closed" && wanted(one)),
      at,
    )
  }

  /** What an undisturbed Computer does for a Session: attach, start its process, start its Turn. */
  private bringUp({ a, b, c }: Action): void {
    const session = pick(
      this.sessions().filter((one) => one.status !== "closed" && this.world.head(one)?.status !== "running"),
      a,
    )
    if (session === undefined) return
    const at = [...this.world.computers.keys()].indexOf(session.computer)
    const computer = this.world.computer(session.computer)
    if (!computer.attached && computer.desired === "running") this.attach({ kind: 0, a: at * 4, b: 1, c })
    for (let rest = 2; rest > 0 && session.process !== "ready"; rest -= 1) {
      const waiting = this.sessions().filter(
        (one) => this.links.has(one.computer) && one.status !== "closed" && one.process !== "ready",
      )
      if (!waiting.includes(session)) return
      this.process({ kind: 0, a: waiting.indexOf(session), b, c })
    }
    const queued = this.sessions().filter(
      (one) =>
        this.links.has(one.computer) &&
        one.status !== "closed" &&
        one.generation > 0 &&
        this.world.head(one)?.status === "queued",
    )
    if (this.world.head(session)?.given && queued.includes(session))
      this.startTurn({ kind: 0, a: queued.indexOf(session), b: 1, c })
  }

  private process({ a }: Action): void {
    const session = this.onComputer(a, (one) => one.process !== "ready")
    if (session === undefined) return
    const sessionId = SessionId.parse(session.id)
    if (session.process === "none") {
      if (
        !this.emit(session, {
          type: "process_starting",
          sessionId,
          generation: Generation.parse(session.generation + 1),
        })
      )
        return
      session.generation += 1
      session.process = "starting"
    } else {
      if (
        !this.emit(session, {
          type: "process_ready",
          sessionId,
          generation: Generation.parse(session.generation),
        })
      )
        return
      session.process = "ready"
    }
    this.world.advance()
  }

  private startTurn({ a, b }: Action): void {
    const session = this.onComputer(
      a,
      (one) => one.generation > 0 && this.world.head(one)?.status === "queued",
    )
    if (session === undefined) return
    const turn = b % 8 === 0 ? pick(session.turns, b >> 3) : this.world.head(session)
    if (turn === undefined) return
    const generation = Generation.parse(session.generation)
    if (
      !this.emit(session, {
        type: "turn_started",
        sessionId: SessionId.parse(session.id),
        generation,
        turnId: TurnId.parse(turn.id),
      })
    )
      return
    if (turn.status !== "queued" || this.world.head(session) !== turn) return
    turn.status = "running"
    turn.given = false
    if (session.mode === "cancel") this.world.stop(turn, "cancelled")
    else if (this.world.effective(session).some((hold) => hold.kind === "interrupt"))
      this.world.stop(turn, "interrupted")
    this.world.advance()
  }

  private settle({ a, b }: Action): void {
    const session = this.onComputer(a, (one) => this.world.head(one)?.status === "running")
    const turn =
      session === undefined ? undefined : b % 8 === 0 ? pick(session.turns, b >> 3) : this.world.head(session)
    if (session === undefined || turn === undefined) return
    const status = turn.stop !== null && b % 3 !== 0 ? turn.stop : b % 2 === 0 ? "completed" : "failed"
    const errorCode = status === "completed" ? null : status === "failed" ? "handler_failed" : status
    const outcome: TurnOutcome =
      status === "completed"
        ? { status, result: { step: this.step } }
        : { status, error: { code: String(errorCode), message: "words" } }
    const event: LinkEvent = {
      type: "turn_settled",
      sessionId: SessionId.parse(session.id),
      generation: Generation.parse(session.generation),
      turnId: TurnId.parse(turn.id),
      outcome,
    }
    if (!this.emit(session, event)) return
    const first = turn.status === "queued" || turn.status === "running"
    if (first) {
      session.losses = 0
      this.world.settle(turn, status, errorCode, status === "completed" ? { step: this.step } : null)
    }
    this.world.advance()
  }

  private exit({ a, b, c }: Action): void {
    const session = this.onComputer(a, (one) => one.process !== "none")
    if (session === undefined) return
    const head = this.world.head(session)
    const turn = head?.status === "running" || (head?.given === true && b % 4 === 0) ? head : undefined
    const expected = turn === undefined && b % 3 === 0
    const next = [undefined, "restart", "after_release", "hold"][c % 4] as
      | "restart"
      | "after_release"
      | "hold"
      | undefined
    const event: LinkEvent = {
      type: "process_exited",
      sessionId: SessionId.parse(session.id),
      generation: Generation.parse(session.generation),
      reason:
        turn?.stop !== null && turn !== undefined && c % 2 === 0
          ? { kind: "stop_timeout", afterMs: 10 }
          : { kind: "code", code: 1 },
      expected,
      ...(turn === undefined ? {} : { turnId: TurnId.parse(turn.id) }),
      ...(next === undefined ? {} : { next }),
    }
    if (!this.emit(session, event)) return
    this.world.lose(session, turn, { stopTimeout: event.reason.kind === "stop_timeout", expected, next })
    this.world.advance()
  }

  private lose({ a }: Action): void {
    if (a % 8 !== 0) return
    const computer = this.computer(a >> 3)
    if (computer === undefined || computer.status === "deleted") return
    this.rig.receiver.computerLost(ComputerId.parse(computer.id), "gone")
    Object.assign(computer, {
      attached: false,
      leased: false,
      residency: "unavailable",
      epoch: computer.epoch + 1,
    })
    computer.sent.length = 0
    for (const session of this.sessions())
      if (session.computer === computer.id && session.status !== "closed") this.loseThere(session)
    this.world.advance()
  }

  /** The driver does as it is asked, mostly. */
  private report({ a, b }: Action): void {
    const computer = this.computer(a)
    if (computer === undefined || computer.status === "deleted") return
    const obedient = { running: "running", parked: "parked", idle: "cold", deleted: "cold" }[computer.desired]
    const residency =
      b % 4 === 0
        ? pick(
            ["starting", "running", "parking", "parked", "restoring", "unavailable", "cold"] as const,
            b >> 2,
          )
        : obedient
    if (residency === undefined) return
    const parsed = residency as "running"
    this.rig.receiver.computerState(ComputerId.parse(computer.id), parsed, "a reason")
    if (!(computer.attached && residency === "starting")) computer.residency = residency
    this.world.advance()
  }

  private remove(): void {
    for (const computer of this.world.computers.values()) {
      if (computer.status !== "deleting") continue
      this.rig.receiver.computerDeleted(ComputerId.parse(computer.id))
      Object.assign(computer, {
        status: "deleted",
        residency: "cold",
        attached: false,
        leased: false,
        epoch: computer.epoch + 1,
      })
    }
    this.world.advance()
  }

  private control({ a, b, c }: Action): void {
    const session = pick(this.sessions(), a)
    if (session === undefined) return
    const sessionId = SessionId.parse(session.id)
    if (c % 3 !== 0) return
    const kind =
      pick(
        [
          "interrupt",
          "close",
          "cancel",
          "storage_pressure",
          "release",
          "release",
          "release",
          "release",
        ] as const,
        b,
      ) ?? "close"
    const held = pick(this.world.ownHolds(session.id), c)
    if (kind === "release" && held === undefined) return
    const real = this.rig.receiver.control(
      kind === "release" ? { kind, sessionId, holdId: held?.id as never } : { kind, sessionId },
    )
    const model = this.expectControl(session, kind, held)
    this.check(`operator ${kind}`, real.ok ? real.value.status : real.error.code, model)
  }

  private expectControl(
    session: MSession,
    kind: string,
    held: ReturnType<World["ownHolds"]>[number] | undefined,
  ): string {
    const { world } = this
    if (session.status === "closed" && kind !== "close" && kind !== "cancel") return "invalid_arguments"
    if (kind === "interrupt") world.interrupt(session, null)
    else if (kind === "storage_pressure") world.pressStorage(session)
    else if (kind === "close") world.begin(session, "close")
    else if (kind === "cancel") world.cancelTree(session)
    else if (held?.kind === "storage_pressure") return "invalid_arguments"
    else if (held !== undefined) this.calls.release(held)
    world.advance()
    return session.status
  }

  private pass({ a, b }: Action): void {
    const ms = pick([1, 10, 500, 1_000, 3_000, 10_000], a) ?? 1
    this.rig.advance(ms + (b % 3))
    this.world.pass(ms + (b % 3))
  }

  private async restart({ a }: Action): Promise<void> {
    if (this.options.path === ":memory:" || a % 4 !== 0 || this.waits.some((wait) => !wait.answered)) return
    await this.rig.restart()
    for (const computer of this.world.computers.values()) {
      computer.attached = false
      computer.sent.length = 0
    }
  }

  private redeploy({ a, b }: Action): void {
    if (b % 4 === 0) this.publish(pick(this.options.environments, a) ?? "one")
  }

  /** Frames of an older epoch, number or generation: refused, repeated or ignored, and nothing changes. */
  private stale({ a, b }: Action): void {
    const session = this.onComputer(a, (one) => one.generation > 0)
    const link = session === undefined ? undefined : this.links.get(session.computer)
    if (session === undefined || link === undefined) return
    const computer = this.world.computer(session.computer)
    const event: LinkEvent = {
      type: "process_exited",
      sessionId: SessionId.parse(session.id),
      generation: Generation.parse(session.generation),
      reason: { kind: "code", code: 0 },
      expected: false,
    }
    const id = ComputerId.parse(computer.id)
    if (b % 3 === 0 && computer.epoch > 1) {
      const real = this.rig.receiver.event(id, Epoch.parse(computer.epoch - 1), link.seq + 1, 0, event)
      this.check("event of an older epoch", real.ok ? "ok" : real.error.code, "superseded")
    } else if (b % 3 === 1 && link.seq > 0) {
      const real = this.rig.receiver.event(id, Epoch.parse(computer.epoch), link.seq, 0, event)
      this.check("repeated event", real.ok ? "ok" : real.error.code, "ok")
    } else {
      const real = this.rig.receiver.event(id, Epoch.parse(computer.epoch), link.seq + 2, 0, event)
      this.check("event after a gap", real.ok ? "ok" : real.error.code, "invalid_frame")
    }
  }

  private ask({ a }: Action): void {
    const session = this.onComputer(a, (one) => this.world.head(one)?.status === "running")
    const turn = session === undefined ? undefined : this.world.head(session)
    if (session === undefined || turn === undefined) return
    const asked = this.emit(session, {
      type: "question",
      sessionId: SessionId.parse(session.id),
      generation: Generation.parse(session.generation),
      turnId: TurnId.parse(turn.id),
      requestId: this.rig.ports.newId("req"),
      question: text("which?"),
    })
    if (!asked) return
    if (session.parent !== null || session.status !== "open") this.world.send(session, `answer ${turn.id}`)
    else this.world.questions.push({ session: session.id, turn: turn.id, open: true })
  }

  /** The call as the caller's supervisor would relay it; sometimes with an epoch or a generation that is over. */
  private prepare(
    caller: MSession,
    tool: string,
    args: Readonly<Record<string, unknown>>,
    salt: number,
  ): { readonly call: Call; readonly send: () => Promise<AdmissionAnswer> } | undefined {
    const computer = this.world.computer(caller.computer)
    if (computer.epoch === 0 || caller.generation === 0) return undefined
    const maximum = this.rig.receiver
      .deployment(caller.deployment as never)
      ?.agents.find((agent) => agent.id === caller.agent)?.runtimeMcp
    if (maximum === undefined) return undefined
    const { scope, atoms } = presentedScope(maximum, salt)
    const epoch = salt % 97 === 96 && computer.epoch > 1 ? computer.epoch - 1 : computer.epoch
    const generation =
      salt % 89 === 88
        ? caller.generation + 1
        : salt % 83 === 82 && caller.generation > 1
          ? caller.generation - 1
          : caller.generation
    const call: Call = { session: caller.id, computer: computer.id, epoch, generation, tool, args, atoms }
    const request = {
      sessionId: SessionId.parse(caller.id),
      generation: Generation.parse(generation),
      scope,
      tool,
      arguments: JSON.parse(JSON.stringify(args)) as Record<string, Json>,
    }
    const send = () =>
      this.rig.receiver.admit(
        ComputerId.parse(computer.id),
        Epoch.parse(epoch),
        request,
        new AbortController().signal,
      )
    return { call, send }
  }

  private async perform(
    caller: MSession,
    tool: string,
    args: Readonly<Record<string, unknown>>,
    salt: number,
  ): Promise<void> {
    const prepared = this.prepare(caller, tool, args, salt)
    if (prepared === undefined) return
    const real = await prepared.send()
    const model = this.calls.expect(prepared.call, real as Real)
    this.compareAnswer(`${tool} by ${caller.id} ${JSON.stringify(args)}`, real, model)
  }

  private async create({ a, b, c }: Action): Promise<void> {
    if (this.sessions().length > 400) return
    const caller = this.caller(a)
    if (caller === undefined) return
    const tool = b % 3 === 0 ? "start" : "spawn"
    await this.perform(caller, tool, this.creationArguments(caller, b >> 2, c), c)
  }

  private creationArguments(caller: MSession, b: number, c: number): Readonly<Record<string, unknown>> {
    const computerId = c % 5 === 0 ? caller.computer : c % 11 === 10 ? this.computer(c)?.id : undefined
    return {
      agent: pick(c % 9 === 8 ? ["absent"] : agentKeys, b),
      input: this.input(b),
      idempotencyKey: c % 3 === 0 ? `k${b % 4}` : `key-${this.step}`,
      ...(computerId === undefined ? {} : { computerId }),
    }
  }

  private input(at: number): Content {
    return at % 7 === 0 ? [] : text(`input ${at % 2}`)
  }

  /** Targets are mostly relatives of the caller, else anybody or nobody. */
  private target(caller: MSession, at: number): MSession | undefined {
    const relatives = this.sessions().filter(
      (one) => one.requester === caller.id || this.world.isDescendant(caller.id, one.id),
    )
    const owned = relatives.filter(
      (one) => one.status !== "closed" && this.world.isDescendant(caller.id, one.id),
    )
    if (at % 4 < 2 && owned.length > 0) return pick(owned, at >> 2)
    if (at % 4 !== 3 && relatives.length > 0) return pick(relatives, at >> 2)
    return at % 32 === 31 ? undefined : pick(this.sessions(), at >> 2)
  }

  private async call({ a, b, c }: Action): Promise<void> {
    const caller = this.caller(a)
    if (caller === undefined) return
    const target = this.target(caller, b)
    const tool =
      pick(
        [
          "enqueue",
          "enqueue",
          "send_turn",
          "interrupt_turn",
          "interrupt_session",
          "resume_session",
          "resume_session",
          "close_session",
          "cancel_session",
          "inspect_session",
          "inspect_turn",
          "list_sessions",
          "list_computers",
          "list_agents",
        ],
        c,
      ) ?? "list_agents"
    await this.perform(caller, tool, this.argumentsOf(tool, { caller, target, b: b >> 3, c: c >> 4 }), c >> 3)
  }

  private turnOf(target: MSession | undefined, at: number): string {
    const active = target === undefined ? undefined : this.world.head(target)
    if (at % 3 !== 0 && active !== undefined) return active.id
    const stray = at % 16 === 15 ? this.sessions().flatMap((one) => one.turns) : (target?.turns ?? [])
    const turn: MTurn | undefined = pick(stray, at >> 2)
    return turn?.id ?? unknownTurn
  }

  private argumentsOf(
    tool: string,
    from: { caller: MSession; target: MSession | undefined; b: number; c: number },
  ): Readonly<Record<string, unknown>> {
    const { target, b, c } = from
    const sessionId = target?.id ?? unknownSession
    const idempotencyKey = c % 4 === 0 ? `k${b % 4}` : `key-${this.step}`
    switch (tool) {
      case "enqueue":
        return { sessionId, input: this.input(b), idempotencyKey }
      case "send_turn":
        return { sessionId, turnId: this.turnOf(target, b), message: this.input(b), idempotencyKey }
      case "interrupt_turn":
        return { sessionId, turnId: this.turnOf(target, b), idempotencyKey }
      case "resume_session": {
        const holds =
          target === undefined ? [] : this.world.holds.filter((hold) => hold.session === target.id)
        const inherited = target === undefined ? [] : this.world.effective(target)
        const hold = pick(b % 4 === 0 ? inherited : holds, b >> 2)
        return { sessionId, holdId: hold?.id ?? unknownHold, idempotencyKey }
      }
      case "inspect_session":
        return { sessionId }
      case "inspect_turn":
        return { sessionId, turnId: this.turnOf(target, b) }
      case "list_sessions":
        return this.listArguments(b, c)
      case "list_computers":
        return c % 8 === 0 ? { cursor: pick([...this.world.cursors.keys(), "forged~cursor"], b) } : {}
      case "list_agents":
        return { operation: b % 2 === 0 ? "spawn" : "start" }
      default:
        return { sessionId, idempotencyKey }
    }
  }

  private listArguments(b: number, c: number): Readonly<Record<string, unknown>> {
    const cursor = c % 3 === 0 ? pick([...this.world.cursors.keys(), "forged~cursor"], b) : undefined
    return {
      relation: b % 2 === 0 ? "owned" : "requested",
      ...(b % 5 === 0 ? { status: pick([["open"], ["closed", "closing"], ["closing", "open"]], b) } : {}),
      limit: 1 + (b % 3),
      ...(cursor === undefined ? {} : { cursor }),
    }
  }

  /** Several mutations in one turn of the event loop: they share a commit. */
  private async together({ a, b, c }: Action): Promise<void> {
    const prepared = [0, 1, 2, 3].flatMap((index) => {
      const caller = this.caller(a + index * 8 * (b % 2))
      if (caller === undefined) return []
      const target = this.target(caller, b + index)
      const tool = pick(["enqueue", "enqueue", "interrupt_session", "close_session"], c >> index) ?? "enqueue"
      const same = c % 2 === 0
      const args = same
        ? {
            sessionId: target?.id ?? unknownSession,
            input: text("together"),
            idempotencyKey: `same-${this.step}`,
          }
        : this.argumentsOf(tool, { caller, target, b, c })
      const call = this.prepare(caller, same ? "enqueue" : tool, args, 0)
      return call === undefined ? [] : [call]
    })
    const answers = await Promise.all(prepared.map(({ send }) => send()))
    for (const [index, { call }] of prepared.entries()) {
      const real = answers[index]
      if (real === undefined) continue
      const model = this.calls.expect(call, real as Real)
      this.compareAnswer(`${call.tool} together ${JSON.stringify(call.args)}`, real, model)
      this.bindHolds()
    }
  }

  private async wait({ a, b, c }: Action): Promise<void> {
    const caller = this.caller(a)
    if (caller === undefined) return
    const target = this.target(caller, b)
    const timeoutMs = 1 + (c % 2_000)
    const args = { sessionId: target?.id ?? unknownSession, turnId: this.turnOf(target, b >> 3), timeoutMs }
    const prepared = this.prepare(caller, "wait_turn", args, c)
    if (prepared === undefined) return
    const now = this.calls.expect(prepared.call, { ok: false, error: { code: "none" } })
    const promise = prepared.send()
    if (now.ok && now.value["status"] === "timeout") {
      this.waits.push({ call: prepared.call, deadline: this.world.now + timeoutMs, promise, answered: false })
      this.count("wait_turn pending")
      return
    }
    this.compareAnswer("wait_turn", await promise, now)
  }

  async close(): Promise<void> {
    this.compareAll()
    await this.rig.close()
    for (const wait of this.waits) {
      if (wait.answered) continue
      const answer = await wait.promise
      this.check("a wait at the end", answer.ok ? "ok" : answer.error.code, "admission_unavailable")
    }
  }
}
