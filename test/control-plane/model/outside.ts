/** Clients, operators, publishers, time, and the end of the control plane's own process. */
import { EnvironmentKey, SessionId } from "@computerd/protocol/ids"
import type { Rig } from "../rig.ts"
import { text } from "../rig.ts"
import { agentKeys } from "./scopes.ts"
import { type Action, pick, type Stage } from "./stage.ts"
import type { MSession, World } from "./world.ts"

export const start = (stage: Stage, { a, b, c }: Action): void => {
  if (stage.sessions().length > 400) return
  const env = pick(stage.options.environments, a) ?? "one"
  const agent = pick([...agentKeys, "absent"], b) ?? "lead"
  const key = c % 4 === 0 ? "same" : `start-${stage.step}`
  const request = { agent, input: text("go"), sessionKey: undefined }
  const real = stage.rig.receiver.startSession({
    environment: EnvironmentKey.parse(env),
    agent,
    input: request.input,
    idempotencyKey: key,
  })
  const model = expectStart(stage, { env, agent, key }, real)
  stage.check(`start from outside ${agent}`, real.ok ? real.value : real.error.code, model)
}

const expectStart = (
  stage: Stage,
  asked: { env: string; agent: string; key: string },
  real: ReturnType<Rig["receiver"]["startSession"]>,
): unknown => {
  const receiptKey = `environment:${asked.env} ${asked.key}`
  const kept = stage.world.receipts.get(receiptKey)
  if (kept !== undefined) return kept.request === asked.agent ? kept.answer : "idempotency_conflict"
  const deployment = stage.world.deployments.get(stage.world.current.get(asked.env) ?? "")
  if (deployment === undefined) return "not_found"
  if (!deployment.agents.has(asked.agent)) return "target_not_published"
  if (!real.ok) return "admitted"
  const { sessionId, turnId } = real.value
  stage.calls.addSession({
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
  stage.world.receipts.set(receiptKey, { request: asked.agent, answer: { ...real.value } })
  stage.world.advance()
  return { sessionId, turnId, sequence: 1 }
}

export const control = (stage: Stage, { a, b, c }: Action): void => {
  const session = pick(stage.sessions(), a)
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
        "storage_relieved",
        "release",
        "release",
        "release",
        "release",
      ] as const,
      b,
    ) ?? "close"
  const held = pick(stage.world.ownHolds(session.id), c)
  if (kind === "release" && held === undefined) return
  const real = stage.rig.receiver.control(
    kind === "release" ? { kind, sessionId, holdId: held?.id as never } : { kind, sessionId },
  )
  const model = expectControl(stage, session, kind, held)
  stage.check(`operator ${kind}`, real.ok ? real.value.status : real.error.code, model)
}

const expectControl = (
  stage: Stage,
  session: MSession,
  kind: string,
  held: ReturnType<World["ownHolds"]>[number] | undefined,
): string => {
  const { world } = stage
  if (session.status === "closed" && kind !== "close" && kind !== "cancel") return "invalid_arguments"
  if (kind === "interrupt") world.interrupt(session, null)
  else if (kind === "storage_pressure") world.pressStorage(session)
  else if (kind === "storage_relieved")
    for (const hold of world.ownHolds(session.id)) hold.released ||= hold.kind === "storage_pressure"
  else if (kind === "close") world.begin(session, "close")
  else if (kind === "cancel") world.cancelTree(session)
  else if (held?.kind === "storage_pressure") return "invalid_arguments"
  else if (held !== undefined) stage.calls.release(held)
  world.advance()
  return session.status
}

export const pass = (stage: Stage, { a, b }: Action): void => {
  const ms = pick([1, 10, 500, 1_000, 3_000, 10_000], a) ?? 1
  stage.rig.advance(ms + (b % 3))
  stage.world.pass(ms + (b % 3))
}

export const restart = async (stage: Stage, { a }: Action): Promise<void> => {
  if (stage.options.path === ":memory:" || a % 4 !== 0 || stage.waits.some((wait) => !wait.answered)) return
  await stage.rig.restart()
  for (const computer of stage.world.computers.values()) {
    computer.attached = false
    computer.sent.length = 0
  }
}

export const redeploy = (stage: Stage, { a, b }: Action): void => {
  if (b % 4 === 0) stage.publish(pick(stage.options.environments, a) ?? "one")
}
