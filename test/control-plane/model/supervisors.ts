/** Supervisors come and go. */
import { ComputerId, Epoch } from "@computerd/protocol/ids"
import { type Action, type Link, pick, type Stage } from "./stage.ts"
import type { MComputer, MSession } from "./world.ts"

export const attach = (stage: Stage, { a, b }: Action): void => {
  const waiting = [...stage.world.computers.values()].filter(
    (one) => !one.attached && one.desired === "running",
  )
  const computer = a % 4 === 0 ? stage.computer(a >> 2) : pick(waiting, a >> 2)
  if (computer === undefined) return
  const id = ComputerId.parse(computer.id)
  const old = stage.links.get(computer.id)
  const fresh = old === undefined || b % 8 === 0
  const link: Link = fresh ? { store: stage.rig.ports.newId("str"), seq: 0, received: 0 } : old
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
  const real = stage.rig.receiver.attach(id, frame)
  const refused = attachRefusal(computer, link.store)
  stage.check(`attach ${computer.id}`, real.ok ? "ok" : real.error.code, refused ?? "ok")
  if (!real.ok) return
  const expected = attached(stage, computer, link)
  link.received = real.value.commandSeq
  stage.links.set(computer.id, link)
  const run = real.value.run.map(({ assignment, turn, cancel }) => [
    assignment.sessionId,
    assignment.generation,
    turn?.id ?? null,
    cancel ?? null,
  ])
  stage.check(`run of ${computer.id}`, run.sort(), expected.sort())
  stage.world.advance()
}

const attachRefusal = (computer: MComputer, store: string): string | undefined => {
  if (computer.status !== "available") return "unauthorized"
  return computer.leased && computer.store !== null && computer.store !== store
    ? "admission_unavailable"
    : undefined
}

/** Session, generation, Turn and how it is to stop, for each Session that must run there. */
type Run = (string | number | null)[][]

const attached = (stage: Stage, computer: MComputer, link: Link): Run => {
  const here = stage.sessions().filter((one) => one.computer === computer.id && one.status !== "closed")
  computer.attached = false
  if (computer.store !== null && computer.store !== link.store)
    for (const session of here) loseThere(stage, session)
  const run = here.map((session) => {
    const head = stage.world.head(session)
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
  return run
}

export const loseThere = (stage: Stage, session: MSession): void => {
  const head = stage.world.head(session)
  const turn = head?.status === "running" || head?.given === true ? head : undefined
  stage.world.lose(session, turn, { stopTimeout: false, expected: turn === undefined })
}

export const detach = (stage: Stage, { a }: Action): void => {
  if (a % 3 !== 0) return
  const computer = stage.computer(a >> 2)
  if (computer === undefined || !stage.links.has(computer.id)) return
  stage.rig.receiver.detach(ComputerId.parse(computer.id), Epoch.parse(computer.epoch))
  computer.attached = false
  computer.leased = false
  computer.sent.length = 0
}
