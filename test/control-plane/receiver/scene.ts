/** Repeated set-up of the receiver's requirement tests: who is in a scene, and what its supervisors report. */
import { Database } from "bun:sqlite"
import { afterEach, beforeEach } from "bun:test"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { SessionView, TurnView } from "@computerd/control-plane/receiver/fleet"
import type { Json } from "@computerd/protocol/content"
import { EnvironmentKey, HoldId, SessionId, TurnId } from "@computerd/protocol/ids"
import type { AdmissionAnswer, ExitReason } from "@computerd/protocol/link"
import type { NormalRule, Scope } from "@computerd/protocol/scope"
import { normalize } from "@computerd/runtime-mcp/policy/scope"
import {
  bootComputerOf,
  computerOf,
  createRig,
  freshKey,
  manifestOf,
  type Rig,
  type RigOptions,
  type Supervisor,
  startRoot,
  text,
  value,
} from "../rig.ts"

export type Arguments = { readonly [field: string]: Json }

export interface Member {
  readonly sessionId: SessionId
  readonly turnId: TurnId
  readonly supervisor: Supervisor
}

/** Thousands of commits are made here and none is tested against a power cut: memory spares each the wait for a disk. */
const memory = "/dev/shm"
const scratch = (): string => (existsSync(memory) ? memory : tmpdir())

/** A fresh receiver for each test of the file that calls it. */
export const eachTest = (options: Pick<RigOptions, "settings"> = {}): (() => Rig) => {
  let rig: Rig
  let directory: string
  beforeEach(() => {
    directory = mkdtempSync(join(scratch(), "computerd-receiver-"))
    rig = createRig({ ...options, path: join(directory, "control-plane.sqlite") })
  })
  afterEach(async () => {
    await rig.close()
    rmSync(directory, { recursive: true })
  })
  return () => rig
}

export const only = (...rules: readonly NormalRule[]): Scope => normalize(rules)

export const unknownSession = SessionId.parse("ses_01900000-0000-7000-8000-fffffffffff0")
export const unknownTurn = TurnId.parse("trn_01900000-0000-7000-8000-fffffffffff1")
export const unknownHold = HoldId.parse("hld_01900000-0000-7000-8000-fffffffffff2")

export const call = (
  member: Member,
  tool: string,
  args: Arguments,
  scope?: Scope,
): Promise<AdmissionAnswer> => member.supervisor.call(member.sessionId, tool, args, scope)

/** A mutation under a key of its own. */
export const ask = (member: Member, tool: string, args: Arguments, scope?: Scope): Promise<AdmissionAnswer> =>
  call(member, tool, { ...args, idempotencyKey: freshKey() }, scope)

/** The text that the model gets for a refusal. */
export const refusal = (answer: AdmissionAnswer): string =>
  answer.ok ? "ok" : `${answer.error.code}: ${answer.error.message}`

export const created = (
  answer: AdmissionAnswer,
): { readonly sessionId: SessionId; readonly turnId: TurnId } => {
  const receipt = value(answer)
  return { sessionId: SessionId.parse(receipt["sessionId"]), turnId: TurnId.parse(receipt["turnId"]) }
}

/** A Session that `caller` makes, with a supervisor on its Computer; nothing of it runs yet. */
export const delegate = async (
  rig: Rig,
  caller: Member,
  request: { readonly by: "spawn" | "start"; readonly agent: string; readonly computerId?: string },
): Promise<Member> => {
  const { by, ...named } = request
  const made = created(await ask(caller, by, { ...named, input: text("work") }))
  const shared = computerOf(rig, made.sessionId) === caller.supervisor.computerId
  return { ...made, supervisor: shared ? caller.supervisor : bootComputerOf(rig, made.sessionId) }
}

export const begin = (member: Member): Member => {
  member.supervisor.startProcess(member.sessionId)
  member.supervisor.startTurn(member.sessionId, member.turnId)
  return member
}

export const runningChild = async (rig: Rig, caller: Member, agent: string): Promise<Member> =>
  begin(await delegate(rig, caller, { by: "spawn", agent }))

export const finish = (member: Member, turnId: TurnId = member.turnId, result: Json = null): void => {
  member.supervisor.settle(member.sessionId, turnId, result)
}

export const idleRoot = (rig: Rig, agent: string): Member => {
  const root = startRoot(rig, agent)
  finish(root)
  return root
}

/** The supervisor reports that the running Turn stopped as it was asked to. */
export const stopped = (
  member: Member,
  status: "interrupted" | "cancelled" | "failed",
  turnId: TurnId = member.turnId,
): void => {
  const { sessionId, supervisor } = member
  const error = { code: status === "failed" ? "handler_failed" : status, message: "as told" }
  supervisor.emit({
    type: "turn_settled",
    sessionId,
    generation: supervisor.generation(sessionId),
    turnId,
    outcome: { status, error },
  })
}

export const exited = (
  member: Member,
  reason: ExitReason,
  during: { readonly turnId?: TurnId; readonly expected?: boolean } = {},
): void => {
  const { sessionId, supervisor } = member
  supervisor.emit({
    type: "process_exited",
    sessionId,
    generation: supervisor.generation(sessionId),
    reason,
    ...(during.turnId === undefined ? {} : { turnId: during.turnId }),
    expected: during.expected ?? false,
  })
}

export const enqueue = async (
  caller: Member,
  target: { readonly sessionId: SessionId },
  words = "more",
): Promise<TurnId> =>
  created(await ask(caller, "enqueue", { sessionId: target.sessionId, input: text(words) })).turnId

export const inspect = async (
  caller: Member,
  target: { readonly sessionId: SessionId },
): Promise<Arguments> => value(await call(caller, "inspect_session", { sessionId: target.sessionId }))

/** As onlookers see it. */
export const seen = (rig: Rig, member: { readonly sessionId: SessionId }): SessionView => {
  const found = rig.receiver.snapshot().sessions.find((session) => session.id === member.sessionId)
  if (found === undefined) throw new Error(`no Session ${member.sessionId}`)
  return found
}

export const turnSeen = (rig: Rig, member: Member, turnId: TurnId = member.turnId): TurnView => {
  const found = rig.receiver.turn(member.sessionId, turnId)
  if (found === undefined) throw new Error(`no Turn ${turnId}`)
  return found
}

export const statusOf = (rig: Rig, member: Member, turnId: TurnId = member.turnId): string =>
  turnSeen(rig, member, turnId).status

/** Turns that the Computer has been told to run in this Session, in the order in which it was told. */
export const dispatched = (member: Member): readonly TurnId[] => {
  member.supervisor.pull()
  return member.supervisor.commands.flatMap((command) =>
    command.type === "dispatch" && command.sessionId === member.sessionId ? [command.turn.id] : [],
  )
}

export const commandsOf = (member: Member, type: string): readonly unknown[] => {
  member.supervisor.pull()
  return member.supervisor.commands.filter(
    (command) => command.type === type && "sessionId" in command && command.sessionId === member.sessionId,
  )
}

/** The Turn that its Computer was first told to run in this Session. */
export const turnTold = (member: Member): { readonly input: unknown; readonly source: unknown } => {
  const [told] = commandsOf(member, "dispatch") as { turn: { input: unknown; source: unknown } }[]
  if (told === undefined) throw new Error("no Turn was dispatched")
  return told.turn
}

/** Time goes by while these supervisors renew their leases. */
export const pass = (rig: Rig, ms: number, ...members: readonly Member[]): void => {
  rig.advance(ms)
  for (const { supervisor } of members) rig.receiver.renew(supervisor.computerId, supervisor.epoch())
}

const elsewhere = EnvironmentKey.parse("elsewhere")

/** A Session of another Environment, running on its own Computer. */
export const foreigner = (rig: Rig, agent: string): Member => {
  const manifest = rig.receiver.deployment(rig.publish([agent]))
  rig.receiver.addDeployment(elsewhere, manifest ?? manifestOf([]))
  const started = rig.receiver.startSession({
    environment: elsewhere,
    agent,
    input: text("there"),
    idempotencyKey: freshKey(),
  })
  if (!started.ok) throw new Error(started.error.message)
  const { sessionId, turnId } = started.value
  return begin({ sessionId, turnId, supervisor: bootComputerOf(rig, sessionId) })
}

/** Ownership deeper than the tools make it: writes one Session under another in the store file. */
export const adopt = (rig: Rig, parent: Member, child: Member): void => {
  const file = new Database(rig.path)
  file.run(
    `update sessions set role = 'child', parent_id = ?1, requester_id = ?1,
       root_id = (select root_id from sessions where id = ?1) where id = ?2`,
    [parent.sessionId, child.sessionId],
  )
  file.run(
    "update sessions set root_id = (select root_id from sessions where id = ?1) where parent_id = ?1",
    [child.sessionId],
  )
  file.close()
}
