/** Tool calls of every kind, by callers that may and by callers that may not. */
import type { Content, Json } from "@computerd/protocol/content"
import { ComputerId, Epoch, Generation, SessionId } from "@computerd/protocol/ids"
import type { AdmissionAnswer } from "@computerd/protocol/link"
import { text } from "../rig.ts"
import type { Call, Real } from "./calls.ts"
import { bindHolds, compareAnswer } from "./compare.ts"
import { agentKeys, presentedScope } from "./scopes.ts"
import { type Action, pick, type Stage } from "./stage.ts"
import type { MSession, MTurn } from "./world.ts"

const unknownSession = "ses_01900000-0000-7000-8000-ffffffffffff"
const unknownTurn = "trn_01900000-0000-7000-8000-ffffffffffff"
const unknownHold = "hld_01900000-0000-7000-8000-ffffffffffff"

/** The call as the caller's supervisor would relay it; sometimes with an epoch or a generation that is over. */
const prepare = (
  stage: Stage,
  caller: MSession,
  tool: string,
  args: Readonly<Record<string, unknown>>,
  salt: number,
): { readonly call: Call; readonly send: () => Promise<AdmissionAnswer> } | undefined => {
  const computer = stage.world.computer(caller.computer)
  if (computer.epoch === 0 || caller.generation === 0) return undefined
  const maximum = stage.rig.receiver
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
    stage.rig.receiver.admit(
      ComputerId.parse(computer.id),
      Epoch.parse(epoch),
      request,
      new AbortController().signal,
    )
  return { call, send }
}

const perform = async (
  stage: Stage,
  caller: MSession,
  tool: string,
  args: Readonly<Record<string, unknown>>,
  salt: number,
): Promise<void> => {
  const prepared = prepare(stage, caller, tool, args, salt)
  if (prepared === undefined) return
  const real = await prepared.send()
  const model = stage.calls.expect(prepared.call, real as Real)
  compareAnswer(stage, `${tool} by ${caller.id} ${JSON.stringify(args)}`, real, model)
}

export const create = async (stage: Stage, { a, b, c }: Action): Promise<void> => {
  if (stage.sessions().length > 400) return
  const caller = stage.caller(a)
  if (caller === undefined) return
  // The deepest caller goes on with its chain.
  const tool = b % 3 === 0 || a % 8 === 4 ? "start" : "spawn"
  await perform(stage, caller, tool, creationArguments(stage, caller, b >> 2, c), c)
}

const creationArguments = (
  stage: Stage,
  caller: MSession,
  b: number,
  c: number,
): Readonly<Record<string, unknown>> => {
  const computerId = c % 5 === 0 ? caller.computer : c % 11 === 10 ? stage.computer(c)?.id : undefined
  return {
    agent: pick(c % 9 === 8 ? ["absent"] : agentKeys, b),
    input: inputOf(b),
    idempotencyKey: c % 3 === 0 ? `k${b % 4}` : `key-${stage.step}`,
    ...(computerId === undefined ? {} : { computerId }),
  }
}

const inputOf = (at: number): Content => {
  return at % 7 === 0 ? [] : text(`input ${at % 2}`)
}

/** Targets are mostly relatives of the caller, else anybody or nobody. */
const targetOf = (stage: Stage, caller: MSession, at: number): MSession | undefined => {
  const relatives = stage
    .sessions()
    .filter((one) => one.requester === caller.id || stage.world.isDescendant(caller.id, one.id))
  const owned = relatives.filter(
    (one) => one.status !== "closed" && stage.world.isDescendant(caller.id, one.id),
  )
  if (at % 4 < 2 && owned.length > 0) return pick(owned, at >> 2)
  if (at % 4 !== 3 && relatives.length > 0) return pick(relatives, at >> 2)
  return at % 32 === 31 ? undefined : pick(stage.sessions(), at >> 2)
}

export const call = async (stage: Stage, { a, b, c }: Action): Promise<void> => {
  const caller = stage.caller(a)
  if (caller === undefined) return
  const target = targetOf(stage, caller, b)
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
        "list_sessions",
        "list_sessions",
        "list_computers",
        "list_agents",
      ],
      c,
    ) ?? "list_agents"
  await perform(
    stage,
    caller,
    tool,
    argumentsOf(stage, tool, { caller, target, b: b >> 3, c: c >> 4 }),
    c >> 3,
  )
}

/** An owner that is able to call controls a child of its own: messages, interrupts, releases, ends. */
export const steer = async (stage: Stage, { a, b, c }: Action): Promise<void> => {
  const pairs = stage.sessions().flatMap((child) => {
    const parent = child.parent === null ? undefined : stage.world.sessions.get(child.parent)
    const able = parent !== undefined && parent.generation > 0 && parent.status !== "closed"
    return able && child.status !== "closed" && !stage.world.held(parent) ? [{ parent, child }] : []
  })
  const pair = pick(pairs, a)
  if (pair === undefined) return
  const held = stage.world.ownHolds(pair.child.id).length > 0
  const running = stage.world.head(pair.child)?.status === "running"
  const tools = held
    ? ["resume_session", "resume_session", "resume_session", "cancel_session"]
    : running
      ? ["send_turn", "send_turn", "interrupt_turn", "interrupt_session", "close_session"]
      : ["enqueue", "enqueue", "interrupt_session", "close_session"]
  const tool = pick(tools, b) ?? "enqueue"
  const args = argumentsOf(stage, tool, {
    caller: pair.parent,
    target: pair.child,
    b: (b >> 3) | 1,
    c: c >> 4,
  })
  await perform(stage, pair.parent, tool, args, c >> 3)
}

const turnOf = (stage: Stage, target: MSession | undefined, at: number): string => {
  const active = target === undefined ? undefined : stage.world.head(target)
  if (at % 3 !== 0 && active !== undefined) return active.id
  const stray = at % 16 === 15 ? stage.sessions().flatMap((one) => one.turns) : (target?.turns ?? [])
  const turn: MTurn | undefined = pick(stray, at >> 2)
  return turn?.id ?? unknownTurn
}

const argumentsOf = (
  stage: Stage,
  tool: string,
  from: { caller: MSession; target: MSession | undefined; b: number; c: number },
): Readonly<Record<string, unknown>> => {
  const { target, b, c } = from
  const sessionId = target?.id ?? unknownSession
  const idempotencyKey = c % 4 === 0 ? `k${b % 4}` : `key-${stage.step}`
  switch (tool) {
    case "enqueue":
      return { sessionId, input: inputOf(b), idempotencyKey }
    case "send_turn":
      return { sessionId, turnId: turnOf(stage, target, b), message: inputOf(b), idempotencyKey }
    case "interrupt_turn":
      return { sessionId, turnId: turnOf(stage, target, b), idempotencyKey }
    case "resume_session": {
      const holds = target === undefined ? [] : stage.world.holds.filter((hold) => hold.session === target.id)
      const inherited = target === undefined ? [] : stage.world.effective(target)
      const hold = pick(b % 4 === 0 ? inherited : holds, b >> 2)
      return { sessionId, holdId: hold?.id ?? unknownHold, idempotencyKey }
    }
    case "inspect_session":
      return { sessionId }
    case "inspect_turn":
      return { sessionId, turnId: turnOf(stage, target, b) }
    case "list_sessions":
      return listArguments(stage, b, c)
    case "list_computers":
      return c % 8 === 0 ? { cursor: pick([...stage.world.cursors.keys(), "forged~cursor"], b) } : {}
    case "list_agents":
      return { operation: b % 2 === 0 ? "spawn" : "start" }
    default:
      return { sessionId, idempotencyKey }
  }
}

/** The filters of the list that the cursor continues, whoever calls. */
const asTheListOf = ([cursor, { list }]: readonly [string, { readonly list: string }]) => {
  const [, , relation, statuses = ""] = list.split(" ")
  return { relation, status: statuses.split(","), limit: 2, cursor }
}

const listArguments = (stage: Stage, b: number, c: number): Readonly<Record<string, unknown>> => {
  const made = c % 3 === 0 ? pick([...stage.world.cursors], b) : undefined
  if (made?.[1].list.includes(" sessions ") && c % 2 === 0) return asTheListOf(made)
  const cursor = c % 24 === 0 ? "forged~cursor" : made?.[0]
  return {
    relation: b % 2 === 0 ? "owned" : "requested",
    ...(b % 5 === 0 ? { status: pick([["open"], ["closed", "closing"], ["closing", "open"]], b) } : {}),
    limit: 1 + (b % 3),
    ...(cursor === undefined ? {} : { cursor }),
  }
}

/** Several mutations in one turn of the event loop: they share a commit. */
export const together = async (stage: Stage, { a, b, c }: Action): Promise<void> => {
  const prepared = [0, 1, 2, 3].flatMap((index) => {
    const caller = stage.caller(a + index * 8 * (b % 2))
    if (caller === undefined) return []
    const target = targetOf(stage, caller, b + index)
    const tool = pick(["enqueue", "enqueue", "interrupt_session", "close_session"], c >> index) ?? "enqueue"
    const same = c % 2 === 0
    const args = same
      ? {
          sessionId: target?.id ?? unknownSession,
          input: text("together"),
          idempotencyKey: `same-${stage.step}`,
        }
      : argumentsOf(stage, tool, { caller, target, b, c })
    const call = prepare(stage, caller, same ? "enqueue" : tool, args, 0)
    return call === undefined ? [] : [call]
  })
  const answers = await Promise.all(prepared.map(({ send }) => send()))
  for (const [index, { call }] of prepared.entries()) {
    const real = answers[index]
    if (real === undefined) continue
    const model = stage.calls.expect(call, real as Real)
    compareAnswer(stage, `${call.tool} together ${JSON.stringify(call.args)}`, real, model)
    bindHolds(stage)
  }
}

export const wait = async (stage: Stage, { a, b, c }: Action): Promise<void> => {
  const caller = stage.caller(a)
  if (caller === undefined) return
  const target = targetOf(stage, caller, b)
  const timeoutMs = 1 + (c % 2_000)
  const args = { sessionId: target?.id ?? unknownSession, turnId: turnOf(stage, target, b >> 3), timeoutMs }
  const prepared = prepare(stage, caller, "wait_turn", args, c)
  if (prepared === undefined) return
  const now = stage.calls.expect(prepared.call, { ok: false, error: { code: "none" } })
  const promise = prepared.send()
  if (now.ok && now.value["status"] === "timeout") {
    stage.waits.push({ call: prepared.call, deadline: stage.world.now + timeoutMs, promise, answered: false })
    stage.count("wait_turn pending")
    return
  }
  compareAnswer(stage, "wait_turn", await promise, now)
}
