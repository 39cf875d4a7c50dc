/** Random courses of commands, kills, cuts and repeats over several Sessions with real processes. */
import { expect, test } from "bun:test"
import { HoldId, type SessionId, type TurnId } from "@computerd/protocol/ids"
import type { LinkCommand, LinkEvent, SessionAssignment } from "@computerd/protocol/link"
import { nextStep, type StepFacts } from "@computerd/supervisor/session/step"
import fc from "fast-check"
import { createWorld, newAssignment, newDispatch, ports, settled, type World } from "../harness.ts"

const sessionsCount = 3
const texts = ["echo", "hang", "die", "flood", "reconnect"] as const

const action = fc.record({
  session: fc.nat({ max: sessionsCount - 1 }),
  what: fc.oneof(
    fc.record({ do: fc.constant("dispatch" as const), text: fc.constantFrom(...texts) }),
    fc.constant({ do: "cancel" as const }),
    fc.constant({ do: "message" as const }),
    fc.constant({ do: "hold" as const }),
    fc.constant({ do: "kill" as const }),
    fc.constant({ do: "repeat" as const }),
    fc.constant({ do: "reconcile" as const }),
  ),
  pauseMs: fc.constantFrom(0, 0, 1, 20),
})
type Action = ReturnType<typeof action.generate>["value"]

/** What the control plane knows of one Session. */
interface Known {
  assignment: SessionAssignment
  turn: Dispatch | undefined
  lastCommands: LinkCommand[]
}

const endOf = (events: readonly LinkEvent[], turnId: TurnId): readonly LinkEvent[] =>
  events.filter(
    (event) => (event.type === "turn_settled" || event.type === "process_exited") && event.turnId === turnId,
  )

const hold = (sessionId: SessionId) => ({
  id: HoldId.parse(`hld_${Bun.randomUUIDv7()}`),
  sessionId,
  kind: "recovery" as const,
  createdAt: new Date(0).toISOString(),
})

type Dispatch = LinkCommand & { type: "dispatch" }

const cancelOf = ({ sessionId, turn }: Dispatch): LinkCommand => ({
  type: "cancel_turn",
  sessionId,
  turnId: turn.id,
  status: "interrupted",
  graceMs: 50,
})

const messageTo = ({ sessionId, turn }: Dispatch): LinkCommand => ({
  type: "message",
  sessionId,
  turnId: turn.id,
  message: { messageId: ports.newId("msg"), content: [] },
})

class ControlPlane {
  readonly dispatched: TurnId[] = []
  readonly #world: World
  readonly #known: Known[]

  constructor(world: World) {
    this.#world = world
    this.#known = Array.from({ length: sessionsCount }, () => ({
      assignment: newAssignment("echo"),
      turn: undefined,
      lastCommands: [],
    }))
    for (const known of this.#known) this.#send(known, { type: "assign", assignment: known.assignment })
  }

  #send(known: Known, ...commands: LinkCommand[]): void {
    known.lastCommands = commands
    this.#world.apply(...commands)
  }

  #open(known: Known): Dispatch | undefined {
    if (known.turn !== undefined && endOf(this.#world.events, known.turn.turn.id).length > 0)
      known.turn = undefined
    return known.turn
  }

  #dispatch(known: Known, text: string): void {
    if (this.#open(known) !== undefined) return
    known.turn = newDispatch(known.assignment.sessionId, text)
    this.dispatched.push(known.turn.turn.id)
    this.#send(known, known.turn)
  }

  #reconcile(): void {
    this.#world.store.transaction(() =>
      this.#world.sessions.reconcile(
        this.#known.map((known) => {
          const turn = this.#open(known)?.turn
          return { assignment: known.assignment, messages: [], ...(turn === undefined ? {} : { turn }) }
        }),
      ),
    )
  }

  perform({ session, what }: Action): void {
    const known = this.#known[session]!
    const { sessionId, holds } = known.assignment
    const open = this.#open(known)
    switch (what.do) {
      case "dispatch":
        this.#dispatch(known, what.text)
        break
      case "cancel":
        if (open !== undefined) this.#send(known, cancelOf(open))
        break
      case "message":
        if (open !== undefined) this.#send(known, messageTo(open))
        break
      case "hold":
        known.assignment = { ...known.assignment, holds: holds.length > 0 ? [] : [hold(sessionId)] }
        this.#send(known, { type: "assign", assignment: known.assignment })
        break
      case "kill": {
        const pid = this.#world.sessions.find(sessionId)?.pid
        if (pid !== undefined) process.kill(pid, "SIGKILL")
        break
      }
      case "repeat":
        this.#world.apply(...known.lastCommands)
        break
      case "reconcile":
        this.#reconcile()
        break
    }
  }

  /** As after a loss: holds are released, what was dispatched is dispatched again, what hangs is interrupted. */
  async settleAll(): Promise<void> {
    for (const known of this.#known) {
      known.assignment = { ...known.assignment, holds: [] }
      this.#world.apply({ type: "assign", assignment: known.assignment })
    }
    await settled(() => {
      for (const known of this.#known) {
        const open = this.#open(known)
        if (open === undefined) continue
        const { sessionId } = known.assignment
        const state = this.#world.sessions.find(sessionId)?.state
        this.#world.apply(state === "running" ? cancelOf(open) : open)
      }
      return this.#known.every((known) => this.#open(known) === undefined)
    }, "the settlement of every Turn")
  }

  check(events: readonly LinkEvent[]): void {
    for (const turnId of this.dispatched) {
      expect(endOf(events, turnId)).toHaveLength(1)
      expect(
        events.filter((event) => event.type === "turn_started" && event.turnId === turnId).length,
      ).toBeLessThan(2)
    }
    for (const { assignment } of this.#known) {
      const lives = events.flatMap((event) =>
        (event.type === "process_starting" || event.type === "process_exited") &&
        event.sessionId === assignment.sessionId
          ? [`${event.type} ${event.generation}`]
          : [],
      )
      const expected = lives.map((_, index) =>
        index % 2 === 0 ? `process_starting ${index / 2 + 1}` : `process_exited ${(index + 1) / 2}`,
      )
      expect(lives).toEqual(expected)
    }
  }
}

test("whatever happens, each Turn starts once at most and ends once, and generations follow one another", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 30, maxLength: 60 }), async (course) => {
      const world = await createWorld()
      try {
        const controlPlane = new ControlPlane(world)
        for (const each of course) {
          controlPlane.perform(each)
          if (each.pauseMs > 0) await Bun.sleep(each.pauseMs)
        }
        await controlPlane.settleAll()
        controlPlane.check(world.events)
      } finally {
        await world.close()
      }
    }),
    { numRuns: 4, endOnFailure: true },
  )
}, 30_000)

const facts: fc.Arbitrary<StepFacts> = fc.record({
  process: fc.constantFrom("none", "starting", "ready", "running", "stopping", "exited"),
  backoff: fc.constantFrom("over", "waiting"),
  supervisor: fc.constantFrom("serving", "waiting", "ending"),
  row: fc.record({
    sessionId: fc.constant(newAssignment("x").sessionId),
    assignment: fc.boolean().map((held) => {
      const assignment = newAssignment("x")
      return held ? { ...assignment, holds: [hold(assignment.sessionId)] } : assignment
    }),
    generation: fc.nat(),
    wanted: fc.boolean(),
    turn: fc
      .constantFrom(undefined, "waiting" as const, "sent" as const)
      .map((phase) =>
        phase === undefined
          ? undefined
          : { data: newDispatch(newAssignment("x").sessionId, "x").turn, phase, atMs: 0 },
      ),
    next: fc.constant(undefined),
    ending: fc.constantFrom(undefined, { kind: "released" as const, graceMs: 7 }),
    finishedTurn: fc.constant(undefined),
    lastExit: fc.constant(undefined),
    recovery: fc.constant(undefined),
  }),
})

test("SS1 SS2 SS3 nothing starts and no Turn is given under a hold, without a reason or a lease, or at the end", () => {
  fc.assert(
    fc.property(facts, (known) => {
      const step = nextStep(known)
      const { row, process, supervisor } = known
      if (step.do === "start" || step.do === "give_turn") {
        expect(row.assignment.holds).toEqual([])
        expect(row.ending).toBeUndefined()
        expect(supervisor).toBe("serving")
      }
      if (step.do === "start") expect([process, row.wanted, known.backoff]).toEqual(["none", true, "over"])
      if (step.do === "give_turn") expect([process, row.turn?.phase]).toEqual(["ready", "waiting"])
      if (step.do === "forget")
        expect([process, row.ending]).toEqual(["none", { kind: "released", graceMs: 7 }])
    }),
  )
})
