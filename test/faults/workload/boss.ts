/** What one Session does with its connection: it delegates, controls and looks, at random, until it is told to stop. */
import type { Json } from "@computerd/protocol/content"
import { textOf } from "../history/calls.ts"
import type { Random } from "../schedule/random.ts"
import type { Caller, Request } from "./caller.ts"

interface Child {
  readonly session: string
  readonly turns: string[]
}

export interface BossDeps {
  readonly caller: Caller
  readonly random: Random
  /** The Computer that it runs on. */
  readonly computer: string
  /** Names of its calls, as nobody else uses them. */
  readonly newKey: () => string
}

export interface Boss {
  /** One thing after the other; ends when `stop` aborts and the last call was answered, or given up. */
  readonly work: (stop: AbortSignal) => Promise<void>
}

const childrenMax = 3
/** Some Turns run long enough for faults to fall into them. */
const workMaxMs = { short: 100, long: 1_200 }
const longShare = 0.3
const stubbornShare = 0.03
const waitMs = 1_000
const heldMs = 40
const pauseMs = { low: 5, high: 60 }

const fieldOf = (value: Json, field: string): Json =>
  value !== null && typeof value === "object" && !Array.isArray(value)
    ? ((value as Readonly<Record<string, Json>>)[field] ?? null)
    : null

export const createBoss = ({ caller, random, computer, newKey }: BossDeps): Boss => {
  const children: Child[] = []
  let last: Request | undefined

  const mutate = async (tool: string, given: Readonly<Record<string, Json>>): Promise<Json> => {
    const key = newKey()
    const request = { tool, key, arguments: given }
    const outcome = await caller.ask(request)
    last = request
    return outcome?.kind === "answered" ? outcome.value : null
  }

  /** The input bears caller and a key, by which the effect of a call is found again. */
  const input = (key: string): Json => {
    const work = {
      caller: caller.session,
      key,
      workMs: random.between(0, random.next() < longShare ? workMaxMs.long : workMaxMs.short),
      isStubborn: random.next() < stubbornShare,
    }
    return [{ type: "text", text: JSON.stringify(work) }]
  }

  const create = async (tool: "spawn" | "start", given: Readonly<Record<string, Json>>): Promise<Json> => {
    const key = newKey()
    const request = { tool, key, arguments: { ...given, input: input(key) } }
    const outcome = await caller.ask(request)
    last = request
    return outcome?.kind === "answered" ? outcome.value : null
  }

  const spawn = async (): Promise<void> => {
    const place = random.next() < 0.5 ? { computerId: computer } : {}
    const made = await create("spawn", { agent: "worker", ...place })
    const [session, turn] = [textOf(made, "sessionId"), textOf(made, "turnId")]
    if (session !== undefined && turn !== undefined) children.push({ session, turns: [turn] })
  }

  const enqueue = async ({ session, turns }: Child): Promise<void> => {
    const key = newKey()
    const request = { tool: "enqueue", key, arguments: { sessionId: session, input: input(key) } }
    const outcome = await caller.ask(request)
    last = request
    const turn = outcome?.kind === "answered" ? textOf(outcome.value, "turnId") : undefined
    if (turn !== undefined) turns.push(turn)
  }

  const waitTurn = async ({ session, turns }: Child): Promise<void> => {
    const turnId = random.pick(turns)
    if (turnId === undefined) return
    const given = { sessionId: session, turnId, timeoutMs: waitMs }
    await caller.ask({ tool: "wait_turn", arguments: given })
  }

  /** Work that is asked for under a hold waits for its release. */
  const hold = async (child: Child): Promise<void> => {
    const placed = await mutate("interrupt_session", { sessionId: child.session })
    const holdId = textOf(placed, "holdId")
    if (holdId === undefined) return
    await enqueue(child)
    await Bun.sleep(heldMs)
    await mutate("resume_session", { sessionId: child.session, holdId })
  }

  const interruptTurn = async ({ session, turns }: Child): Promise<void> => {
    const turnId = turns.at(-1)
    if (turnId !== undefined) await mutate("interrupt_turn", { sessionId: session, turnId })
  }

  const tell = async ({ session, turns }: Child): Promise<void> => {
    const turnId = turns.at(-1)
    const message = [{ type: "text", text: "more" }]
    if (turnId !== undefined) await mutate("send_turn", { sessionId: session, turnId, message })
  }

  /** As an owner does: looks, and releases what a lost process left. */
  const recover = async ({ session }: Child): Promise<void> => {
    const outcome = await caller.ask({ tool: "inspect_session", arguments: { sessionId: session } })
    if (outcome?.kind !== "answered") return
    const holds = fieldOf(outcome.value, "holds")
    for (const held of Array.isArray(holds) ? holds : []) {
      const holdId = textOf(held, "id")
      if (holdId !== undefined && textOf(held, "kind") === "recovery")
        await mutate("resume_session", { sessionId: session, holdId })
    }
  }

  const end = async (child: Child): Promise<void> => {
    children.splice(children.indexOf(child), 1)
    await mutate(random.next() < 0.5 ? "close_session" : "cancel_session", { sessionId: child.session })
  }

  const repeat = async (): Promise<void> => {
    if (last !== undefined) await caller.ask(last)
  }

  const steps = [enqueue, enqueue, enqueue, waitTurn, waitTurn, hold, interruptTurn, tell, recover, recover]

  const step = async (): Promise<void> => {
    const draw = random.next()
    if (children.length === 0 || (children.length < childrenMax && draw < 0.15)) return spawn()
    if (draw < 0.2) return repeat()
    if (draw < 0.23) return void (await create("start", { agent: "guest" }))
    const child = random.pick(children)
    if (child === undefined) return
    if (children.length === childrenMax && draw < 0.3) return end(child)
    await random.pick(steps)?.(child)
  }

  return {
    work: async (stop) => {
      while (!stop.aborted) {
        await step()
        await Bun.sleep(random.between(pauseMs.low, pauseMs.high))
      }
    },
  }
}
