/** The verbs that give work and wait for it. */
import type { Failure } from "@computerd/protocol/errors"
import type { HelmrClient, TurnHandle } from "@helmr/sdk"
import type { EnqueueWork, FollowWork, StartWork, WaitWork } from "../arguments/fleet/command.ts"
import { exitClosedPipe, writeOut } from "../output.ts"
import { forReader, oneLine } from "../view/text.ts"
import { type Asked, answer } from "./answer.ts"
import type { FleetDeps } from "./deps.ts"
import { follow } from "./follow/follow.ts"
import { noPast, type Past, readPast } from "./follow/past.ts"
import { printedOutcome } from "./outcome.ts"
import { textOf } from "./text.ts"

/** As `timeout` of coreutils has it. */
const exitTimeout = 124
/** One wait; a longer one is asked for again. */
const waitMs = 60 * 60_000

const settled = async (turn: TurnHandle, timeoutMs: number | undefined) => {
  if (timeoutMs !== undefined) return turn.wait({ timeoutMs })
  for (;;) {
    const waited = await turn.wait({ timeoutMs: waitMs })
    if (waited.status === "settled") return waited
  }
}

const printOutcome = async (
  turn: TurnHandle,
  { json, timeoutMs }: { readonly json: boolean; readonly timeoutMs?: number | undefined },
  { out, err }: FleetDeps,
): Promise<number> => {
  const names = { sessionId: turn.sessionId, turnId: turn.id }
  const waited = await settled(turn, timeoutMs)
  if (waited.status === "timeout") {
    if (json) await writeOut(out, `${JSON.stringify({ ...names, status: "timeout" })}\n`)
    await writeOut(err, `computerd: the Turn has not settled within ${timeoutMs} ms; it goes on\n`)
    return exitTimeout
  }
  const printed = printedOutcome(waited.outcome, { json, names })
  await writeOut(out, forReader(printed.out, out))
  await writeOut(err, printed.err)
  return printed.exitCode
}

const followTurn = async (
  client: HelmrClient,
  { turn, past, json }: { readonly turn: TurnHandle; readonly past: Past; readonly json: boolean },
  deps: FleetDeps,
): Promise<number> => {
  const session = client.sessions.handle(turn.sessionId)
  const followed = await follow({ session, past, turnId: turn.id, json }, deps)
  deps.interrupt.stop.throwIfAborted()
  return followed === "reader_gone" ? exitClosedPipe : printOutcome(turn, { json }, deps)
}

const announce = async (
  turn: TurnHandle,
  { follow: following, json }: { readonly follow: boolean; readonly json: boolean },
  deps: FleetDeps,
): Promise<number | undefined> => {
  const value = { sessionId: turn.sessionId, turnId: turn.id }
  if (!following) return answer({ text: `${turn.sessionId} ${turn.id}\n`, value }, json, deps)
  await writeOut(deps.err, `Session ${turn.sessionId}, Turn ${turn.id}\n`)
  return undefined
}

export const start = async (
  client: HelmrClient,
  { work, json }: Asked<StartWork>,
  deps: FleetDeps,
): Promise<number | Failure> => {
  const { agent, sessionKey, computerId, idempotencyKey } = work
  const input = await textOf(work.input, deps)
  if (!input.ok) return input.error
  const asked = { input: input.value, sessionKey, computerId, idempotencyKey }
  const { turn } = await client.agents.start(agent, asked)
  return (
    (await announce(turn, { ...work, json }, deps)) ?? followTurn(client, { turn, past: noPast, json }, deps)
  )
}

export const enqueue = async (
  client: HelmrClient,
  { work, json }: Asked<EnqueueWork>,
  deps: FleetDeps,
): Promise<number | Failure> => {
  const { sessionId, idempotencyKey } = work
  const input = await textOf(work.input, deps)
  if (!input.ok) return input.error
  const session = client.sessions.handle(sessionId)
  const past = work.follow ? await readPast(session, "now") : noPast
  const turn = await session.enqueue(input.value, { idempotencyKey })
  return (await announce(turn, { ...work, json }, deps)) ?? followTurn(client, { turn, past, json }, deps)
}

export const wait = (
  client: HelmrClient,
  { work, json }: Asked<WaitWork>,
  deps: FleetDeps,
): Promise<number> => {
  const { sessionId, turnId, timeoutMs } = work
  return printOutcome(client.sessions.handle(sessionId).turn(turnId), { json, timeoutMs }, deps)
}

/** Until the Session is closed. */
export const followSession = async (
  client: HelmrClient,
  { work, json }: Asked<FollowWork>,
  deps: FleetDeps,
): Promise<number> => {
  const { sessionId, after } = work
  const session = client.sessions.handle(sessionId)
  const past = after === undefined ? noPast : await readPast(session, after)
  const followed = await follow({ session, past, turnId: undefined, json }, deps)
  deps.interrupt.stop.throwIfAborted()
  if (followed === "reader_gone") return exitClosedPipe
  if (!json) await writeOut(deps.err, `${oneLine(`computerd: Session ${sessionId} is closed`)}\n`)
  return 0
}
