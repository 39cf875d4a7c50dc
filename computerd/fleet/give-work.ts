/** The verbs that give work and wait for it. */
import type { Failure } from "@computerd/protocol/errors"
import type { HelmrClient, TurnHandle } from "@helmr/sdk"
import type { Afterwards, EnqueueWork, FollowWork, StartWork, WaitWork } from "../arguments/fleet/command.ts"
import { exitClosedPipe, exitTimeout } from "../exit-codes.ts"
import { writeAnswer, writeOut } from "../output.ts"
import { oneLine } from "../view/text.ts"
import { type Asked, answer } from "./answer.ts"
import type { FleetDeps } from "./deps.ts"
import { follow } from "./follow/follow.ts"
import { noPast, type Past, readPast } from "./follow/past.ts"
import { printedOutcome } from "./outcome.ts"
import { textOf } from "./text.ts"

const printOutcome = async (
  turn: TurnHandle,
  {
    json,
    timeoutMs = Number.POSITIVE_INFINITY,
  }: { readonly json: boolean; readonly timeoutMs?: number | undefined },
  { out, err, interrupt }: FleetDeps,
): Promise<number> => {
  const names = { sessionId: turn.sessionId, turnId: turn.id }
  const again = `the work goes on; computerd fleet wait ${turn.sessionId} ${turn.id} waits again`
  const waited = await turn.wait({ timeoutMs }).catch(async (error: unknown) => {
    if (interrupt.stop.aborted) await writeOut(err, `computerd: ${again}\n`)
    throw error
  })
  if (waited.status === "timeout") {
    if (json) await writeOut(out, `${JSON.stringify({ ...names, status: "timeout" })}\n`)
    await writeOut(err, `computerd: the Turn has not settled within ${timeoutMs} ms; it goes on\n`)
    return exitTimeout
  }
  const printed = printedOutcome(waited.outcome, { json, names })
  await writeAnswer(out, printed.out)
  await writeOut(err, printed.err)
  return printed.exitCode
}

interface Given {
  readonly turn: TurnHandle
  readonly afterwards: Afterwards
  readonly json: boolean
  /** What need not be shown. */
  readonly past: () => Promise<Past>
}

/** What was given has been accepted. */
const attend = async (
  client: HelmrClient,
  { turn, afterwards, json, past }: Given,
  deps: FleetDeps,
): Promise<number> => {
  const { id: turnId, sessionId } = turn
  if (afterwards === "leave")
    return answer({ text: `${sessionId} ${turnId}\n`, value: { sessionId, turnId } }, json, deps)
  await writeOut(deps.err, `Session ${sessionId}, Turn ${turnId}\n`)
  if (afterwards === "follow") {
    const session = client.sessions.handle(sessionId)
    const followed = await follow({ session, past: await past(), turnId, json }, deps)
    if (followed === "reader_gone") return exitClosedPipe
  }
  return printOutcome(turn, { json }, deps)
}

export const start = async (
  client: HelmrClient,
  { work, json }: Asked<StartWork>,
  deps: FleetDeps,
): Promise<number | Failure> => {
  const { agent, sessionKey, computerId, idempotencyKey, afterwards } = work
  const input = await textOf(work.input, deps)
  if (!input.ok) return input.error
  const asked = { input: input.value, sessionKey, computerId, idempotencyKey }
  const { turn } = await client.agents.start(agent, asked)
  return attend(client, { turn, afterwards, json, past: () => Promise.resolve(noPast) }, deps)
}

export const enqueue = async (
  client: HelmrClient,
  { work, json }: Asked<EnqueueWork>,
  deps: FleetDeps,
): Promise<number | Failure> => {
  const { sessionId, idempotencyKey, afterwards } = work
  const input = await textOf(work.input, deps)
  if (!input.ok) return input.error
  const session = client.sessions.handle(sessionId)
  const turn = await session.enqueue(input.value, { idempotencyKey })
  // A repeated request names a Turn that may have settled long ago.
  const past = () => readPast(session, { kind: "turn", turnId: turn.id })
  return attend(client, { turn, afterwards, json, past }, deps)
}

export const wait = (
  client: HelmrClient,
  { work, json }: Asked<WaitWork>,
  deps: FleetDeps,
): Promise<number> => {
  const { sessionId, turnId, timeoutMs } = work
  return printOutcome(client.sessions.handle(sessionId).turn(turnId), { json, timeoutMs }, deps)
}

/** Until the Session is closed, or nobody reads any more. */
export const followSession = async (
  client: HelmrClient,
  { work, json }: Asked<FollowWork>,
  deps: FleetDeps,
): Promise<number> => {
  const { sessionId, after } = work
  const session = client.sessions.handle(sessionId)
  const past = after === undefined ? noPast : await readPast(session, { kind: "event", cursor: after })
  const followed = await follow({ session, past, turnId: undefined, json }, deps)
  if (followed === "reader_gone") return exitClosedPipe
  if (!json) await writeOut(deps.err, `${oneLine(`computerd: Session ${sessionId} is closed`)}\n`)
  return 0
}
