/** Compares what the receiver answers, sends and shows with what the model expects. */

import { ComputerId } from "@computerd/protocol/ids"
import type { AdmissionAnswer, LinkCommand } from "@computerd/protocol/link"
import type { Rig } from "../rig.ts"
import type { Expected } from "./calls.ts"
import { Mismatch, type Stage, type Wait } from "./stage.ts"
import type { MComputer } from "./world.ts"

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

export const bindHolds = (stage: Stage): void => {
  if (stage.world.holds.every((hold) => hold.id !== "")) return
  const known = new Set(stage.world.holds.map((hold) => hold.id))
  const seen = stage.rig.receiver.snapshot().sessions.flatMap((session) => session.holds)
  for (const hold of stage.world.holds.filter((one) => one.id === "")) {
    const found = seen.find(
      (one) => one.sessionId === hold.session && one.kind === hold.kind && !known.has(one.id),
    )
    if (found === undefined)
      throw new Mismatch(`step ${stage.step}: the real receiver lacks a ${hold.kind} hold`)
    hold.id = found.id
    known.add(found.id)
  }
}

const words = (command: LinkCommand): string[] => {
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

export const compareCommands = (stage: Stage, computer: MComputer): void => {
  const link = stage.links.get(computer.id)
  if (link === undefined || !computer.attached) return
  const id = ComputerId.parse(computer.id)
  const fresh = stage.rig.receiver.commandsAfter(id, link.received)
  link.received = fresh.at(-1)?.seq ?? link.received
  stage.rig.receiver.acknowledge(id, link.received)
  const bySession = (words: readonly string[]) =>
    [...words].sort((x, y) =>
      x.slice(0, 40) < y.slice(0, 40) ? -1 : x.slice(0, 40) > y.slice(0, 40) ? 1 : 0,
    )
  const sent = computer.sent.splice(0)
  stage.check(
    `commands of ${computer.id}`,
    bySession(fresh.flatMap(({ body }) => words(body))),
    bySession(sent),
  )
}

export const compareWait = async (stage: Stage, wait: Wait): Promise<void> => {
  if (wait.answered) return
  const turn = stage.world.turn(String(wait.call.args["turnId"]))
  const over = turn !== undefined && turn.status !== "queued" && turn.status !== "running"
  if (!over && stage.world.now < wait.deadline) return
  wait.answered = true
  const real = await wait.promise
  const model = over
    ? stage.calls.expect(wait.call, { ok: false, error: { code: "none" } })
    : { ok: true as const, value: { status: "timeout" } }
  compareAnswer(stage, `wait_turn ${String(wait.call.args["turnId"])}`, real, model)
}

export const compareAll = (stage: Stage): void => {
  const snapshot = stage.rig.receiver.snapshot()
  const real = snapshot.sessions.map((one) => [
    one.id,
    one.status,
    one.process,
    one.generation,
    one.computerId,
    one.parent,
    one.idleSinceMs,
    one.holds.map((hold) => `${hold.id} ${hold.kind}`).sort(),
    one.turns.map((turn) => [turn.id, turn.sequence, turn.status, turn.error?.code ?? null]),
  ])
  const model = stage.sessions().map((one) => [
    one.id,
    one.status,
    one.process,
    one.generation,
    one.computer,
    one.parent,
    one.idleSince,
    stage.world
      .effective(one)
      .map((hold) => `${hold.id} ${hold.kind}`)
      .sort(),
    one.turns.map((turn) => [turn.id, turn.sequence, turn.status, turn.errorCode]),
  ])
  const byId = (rows: unknown[][]) => rows.sort((x, y) => (String(x[0]) < String(y[0]) ? -1 : 1))
  stage.check("all Sessions", byId(real), byId(model))
  const computers = snapshot.computers.map((one) => [
    one.id,
    one.status,
    one.residency,
    one.desired,
    one.attached,
  ])
  const expected = [...stage.world.computers.values()]
    .filter((one) => one.status !== "deleted")
    .map((one) => [one.id, one.status, one.residency, one.desired, one.attached])
  stage.check("all Computers", byId(computers), byId(expected))
  invariants(snapshot)
}

/** What must hold whatever the model says. */
const invariants = (snapshot: ReturnType<Rig["receiver"]["snapshot"]>): void => {
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

export const compareAnswer = (stage: Stage, what: string, real: AdmissionAnswer, model: Expected): void => {
  const seen = real.ok
    ? { ok: true, value: withoutComputerTimes(comparable(real.value)) }
    : {
        ok: false,
        code: real.error.code,
        ...(real.error.field === undefined ? {} : { field: real.error.field }),
      }
  stage.check(what, seen, comparable(model))
  stage.count(real.ok ? `${what.split(" ")[0]} ok` : `${what.split(" ")[0]} ${real.error.code}`)
}
