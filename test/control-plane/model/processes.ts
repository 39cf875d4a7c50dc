/** What Session processes do, as their supervisor reports it. */
import type { TurnOutcome } from "@computerd/protocol/content"
import { ComputerId, Epoch, Generation, SessionId, TurnId } from "@computerd/protocol/ids"
import type { LinkEvent } from "@computerd/protocol/link"
import { text } from "../rig.ts"
import { type Action, pick, type Stage } from "./stage.ts"
import { attach } from "./supervisors.ts"

/** What an undisturbed Computer does for a Session: attach, start its process, start its Turn. */
export const bringUp = (stage: Stage, { a, b, c }: Action): void => {
  const waiting = stage
    .sessions()
    .filter((one) => one.status !== "closed" && stage.world.head(one)?.status !== "running")
  const children = waiting.filter((one) => one.parent !== null && stage.world.head(one) !== undefined)
  const session = a % 2 === 0 && children.length > 0 ? pick(children, a >> 1) : pick(waiting, a >> 1)
  if (session === undefined) return
  const at = [...stage.world.computers.keys()].indexOf(session.computer)
  const computer = stage.world.computer(session.computer)
  if (!computer.attached && computer.desired === "running") attach(stage, { kind: 0, a: at * 4, b: 1, c })
  for (let rest = 2; rest > 0 && session.process !== "ready"; rest -= 1) {
    const unready = stage
      .sessions()
      .filter((one) => stage.links.has(one.computer) && one.status !== "closed" && one.process !== "ready")
    if (!unready.includes(session)) return
    process(stage, { kind: 0, a: unready.indexOf(session), b, c })
  }
  const queued = stage
    .sessions()
    .filter(
      (one) =>
        stage.links.has(one.computer) &&
        one.status !== "closed" &&
        one.generation > 0 &&
        stage.world.head(one)?.status === "queued",
    )
  if (stage.world.head(session)?.given && queued.includes(session))
    startTurn(stage, { kind: 0, a: queued.indexOf(session), b: 1, c })
}

export const process = (stage: Stage, { a }: Action): void => {
  const session = stage.onComputer(a, (one) => one.process !== "ready")
  if (session === undefined) return
  const sessionId = SessionId.parse(session.id)
  if (session.process === "none") {
    if (
      !stage.emit(session, {
        type: "process_starting",
        sessionId,
        generation: Generation.parse(session.generation + 1),
      })
    )
      return
    session.generation += 1
    session.process = "starting"
  } else {
    if (
      !stage.emit(session, {
        type: "process_ready",
        sessionId,
        generation: Generation.parse(session.generation),
      })
    )
      return
    session.process = "ready"
  }
  stage.world.advance()
}

export const startTurn = (stage: Stage, { a, b }: Action): void => {
  const session = stage.onComputer(
    a,
    (one) => one.generation > 0 && stage.world.head(one)?.status === "queued",
  )
  if (session === undefined) return
  const turn = b % 8 === 0 ? pick(session.turns, b >> 3) : stage.world.head(session)
  if (turn === undefined) return
  const generation = Generation.parse(session.generation)
  if (
    !stage.emit(session, {
      type: "turn_started",
      sessionId: SessionId.parse(session.id),
      generation,
      turnId: TurnId.parse(turn.id),
    })
  )
    return
  if (turn.status !== "queued" || stage.world.head(session) !== turn) return
  turn.status = "running"
  turn.given = false
  if (session.mode === "cancel") stage.world.stop(turn, "cancelled")
  else if (stage.world.effective(session).some((hold) => hold.kind === "interrupt"))
    stage.world.stop(turn, "interrupted")
  stage.world.advance()
}

export const settle = (stage: Stage, { a, b }: Action): void => {
  const session = stage.onComputer(a, (one) => stage.world.head(one)?.status === "running")
  const turn =
    session === undefined ? undefined : b % 4 === 0 ? pick(session.turns, b >> 3) : stage.world.head(session)
  if (session === undefined || turn === undefined) return
  const status = turn.stop !== null && b % 3 !== 0 ? turn.stop : b % 2 === 0 ? "completed" : "failed"
  const errorCode = status === "completed" ? null : status === "failed" ? "handler_failed" : status
  const outcome: TurnOutcome =
    status === "completed"
      ? { status, result: { step: stage.step } }
      : { status, error: { code: String(errorCode), message: "words" } }
  const event: LinkEvent = {
    type: "turn_settled",
    sessionId: SessionId.parse(session.id),
    generation: Generation.parse(session.generation),
    turnId: TurnId.parse(turn.id),
    outcome,
  }
  if (!stage.emit(session, event)) return
  const first = turn.status === "queued" || turn.status === "running"
  if (first) {
    session.losses = 0
    stage.world.settle(turn, status, errorCode, status === "completed" ? { step: stage.step } : null)
  }
  stage.world.advance()
}

export const exit = (stage: Stage, { a, b, c }: Action): void => {
  const session = stage.onComputer(a, (one) => one.process !== "none")
  if (session === undefined) return
  const head = stage.world.head(session)
  const turn = head?.status === "running" || (head?.given === true && b % 4 === 0) ? head : undefined
  const expected = turn === undefined && b % 3 === 0
  const next = pick([undefined, "restart", "after_release", "hold"] as const, c)
  const event: LinkEvent = {
    type: "process_exited",
    sessionId: SessionId.parse(session.id),
    generation: Generation.parse(session.generation),
    reason:
      turn?.stop !== null && turn !== undefined && c % 2 === 0
        ? { kind: "stop_timeout", afterMs: 10 }
        : { kind: "code", code: 1 },
    expected,
    ...(turn === undefined ? {} : { turnId: TurnId.parse(turn.id) }),
    ...(next === undefined ? {} : { next }),
  }
  if (!stage.emit(session, event)) return
  stage.world.lose(session, turn, { stopTimeout: event.reason.kind === "stop_timeout", expected, next })
  stage.world.advance()
}

/** Frames of an older epoch, number or generation: refused, repeated or ignored, and nothing changes. */
export const stale = (stage: Stage, { a, b }: Action): void => {
  const session = stage.onComputer(a, (one) => one.generation > 0)
  const link = session === undefined ? undefined : stage.links.get(session.computer)
  if (session === undefined || link === undefined) return
  const computer = stage.world.computer(session.computer)
  const event: LinkEvent = {
    type: "process_exited",
    sessionId: SessionId.parse(session.id),
    generation: Generation.parse(session.generation),
    reason: { kind: "code", code: 0 },
    expected: false,
  }
  const id = ComputerId.parse(computer.id)
  if (b % 3 === 0 && computer.epoch > 1) {
    const real = stage.rig.receiver.event(id, Epoch.parse(computer.epoch - 1), link.seq + 1, 0, event)
    stage.check("event of an older epoch", real.ok ? "ok" : real.error.code, "superseded")
  } else if (b % 3 === 1 && link.seq > 0) {
    const real = stage.rig.receiver.event(id, Epoch.parse(computer.epoch), link.seq, 0, event)
    stage.check("repeated event", real.ok ? "ok" : real.error.code, "ok")
  } else {
    const real = stage.rig.receiver.event(id, Epoch.parse(computer.epoch), link.seq + 2, 0, event)
    stage.check("event after a gap", real.ok ? "ok" : real.error.code, "invalid_frame")
  }
}

export const ask = (stage: Stage, { a }: Action): void => {
  const session = stage.onComputer(a, (one) => stage.world.head(one)?.status === "running")
  const turn = session === undefined ? undefined : stage.world.head(session)
  if (session === undefined || turn === undefined) return
  const asked = stage.emit(session, {
    type: "question",
    sessionId: SessionId.parse(session.id),
    generation: Generation.parse(session.generation),
    turnId: TurnId.parse(turn.id),
    requestId: stage.rig.ports.newId("req"),
    question: text("which?"),
  })
  if (!asked) return
  if (session.parent !== null || session.status !== "open") stage.world.send(session, `answer ${turn.id}`)
  else stage.world.questions.push({ session: session.id, turn: turn.id, open: true })
}
