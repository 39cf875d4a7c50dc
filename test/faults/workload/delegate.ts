/** One piece of delegated work that uses everything once: a child of its own Computer, work, a hold, messages, an end. */
import { textOf } from "../history/calls.ts"
import type { World } from "../world/world.ts"
import { createCaller, type Request } from "./caller.ts"
import { createOperator } from "./operator.ts"

const workMs = 30
const waitMs = 2_000
const patienceMs = 60_000

/** Answers with the root Session that delegated, which is open still. */
export const delegate = async (world: World, name: string): Promise<string> => {
  const session = await createOperator(world).start(`start ${name}`)
  const giveUp = AbortSignal.timeout(patienceMs)
  const caller = createCaller(session, { book: world.book, random: () => 0.5, giveUp })
  let keys = 0

  const ask = async (tool: string, given: Request["arguments"]): Promise<Request["arguments"][string]> => {
    keys += 1
    const key = `${name} ${keys}`
    const work = { caller: session, key, workMs, isStubborn: false }
    const input = [{ type: "text", text: JSON.stringify(work) }]
    const takesInput = tool === "spawn" || tool === "enqueue"
    const outcome = await caller.ask({ tool, key, arguments: takesInput ? { ...given, input } : given })
    if (outcome === undefined) throw new Error(`${tool} of ${name} was never answered`)
    return outcome.kind === "answered" ? outcome.value : null
  }

  const child = await ask("spawn", { agent: "worker" })
  const [sessionId, turnId] = [textOf(child, "sessionId"), textOf(child, "turnId")]
  if (sessionId === undefined || turnId === undefined) throw new Error(`${name} has no child`)
  // Its outcome stays unknown until the receipt tells.
  world.link.loseAnswer()
  await ask("enqueue", { sessionId })
  await caller.ask({ tool: "wait_turn", arguments: { sessionId, turnId, timeoutMs: waitMs } })
  const hold = await ask("interrupt_session", { sessionId })
  await ask("enqueue", { sessionId })
  const holdId = textOf(hold, "holdId")
  if (holdId !== undefined) await ask("resume_session", { sessionId, holdId })
  await ask("close_session", { sessionId })
  return session
}
