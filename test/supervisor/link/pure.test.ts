import { expect, test } from "bun:test"
import { Epoch, idSource } from "@computerd/protocol/ids"
import { type LinkDownFrame, linkProtocol } from "@computerd/protocol/link"
import {
  type AttemptEffect,
  type AttemptEvent,
  type AttemptPhase,
  initialPhase,
  transition,
} from "@computerd/supervisor/link/attempt"
import { backoffFirstMs, backoffMaxMs, backoffMs } from "@computerd/supervisor/link/backoff"
import { refusal, sequel } from "@computerd/supervisor/link/outcome"
import fc from "fast-check"

const newId = idSource(() => Bun.randomUUIDv7())
const lease = { epoch: Epoch.parse(3), leaseMs: 60_000, renewMs: 15_000 }
const sessionId = newId("ses")

const attached = (commandSeq = 0): LinkDownFrame => ({
  kind: "attached",
  protocol: linkProtocol,
  lease,
  received: 0,
  commandSeq,
  run: [],
})

const release = (seq: number): LinkDownFrame => ({
  kind: "frame",
  seq,
  ack: 0,
  body: { type: "release", sessionId, graceMs: 0 },
})

const play = (...events: readonly AttemptEvent[]): { phase: AttemptPhase; effects: AttemptEffect[] } => {
  let phase = initialPhase
  const effects: AttemptEffect[] = []
  for (const event of events) {
    const step = transition(phase, event)
    phase = step.next
    effects.push(...step.effects)
  }
  return { phase, effects }
}

const frame = (value: LinkDownFrame): AttemptEvent => ({ type: "frame", frame: value })
const begun: readonly AttemptEvent[] = [{ type: "opened" }, frame(attached())]

const endOf = (...events: readonly AttemptEvent[]) => {
  const { phase } = play(...events)
  return phase.phase === "ended" ? phase.outcome.kind : phase.phase
}

test("a link lost before the attachment was never reached, after it was cut", () => {
  const closed: AttemptEvent = { type: "closed", detail: "gone" }
  expect(endOf(closed)).toBe("unreachable")
  expect(endOf({ type: "opened" }, closed)).toBe("unreachable")
  expect(endOf(...begun, closed)).toBe("cut")
})

test("superseded, unauthorized and unsupported_protocol are final, before and after the attachment", () => {
  for (const code of ["superseded", "unauthorized", "unsupported_protocol"] as const) {
    const refuse = frame({ kind: "refuse", error: { code, message: "no" } })
    expect(endOf({ type: "opened" }, refuse)).toBe("rejected")
    expect(endOf(...begun, refuse)).toBe("rejected")
    expect(sequel(refusal({ code, message: "no" }))).toBe("stop")
  }
  const full = frame({ kind: "refuse", error: { code: "store_unavailable", message: "later" } })
  expect(endOf({ type: "opened" }, full)).toBe("refused")
  expect(sequel(refusal({ code: "store_unavailable", message: "later" }))).toBe("redial")
})

test("another link protocol ends the link for good and names both numbers", () => {
  const other: LinkDownFrame = { ...attached(), protocol: linkProtocol + 1 } as LinkDownFrame
  const { phase } = play({ type: "opened" }, frame(other))
  if (phase.phase !== "ended" || phase.outcome.kind !== "rejected") throw new Error("not rejected")
  expect(phase.outcome.error.code).toBe("unsupported_protocol")
  expect(phase.outcome.error.message).toContain(`${linkProtocol + 1}`)
  expect(phase.outcome.error.message).toContain(`${linkProtocol}`)
})

test("commands continue from the number that attached names", () => {
  const { effects } = play({ type: "opened" }, frame(attached(7)), frame(release(7)), frame(release(8)))
  expect(effects.filter((effect) => effect.do === "apply").map((effect) => effect.seq)).toEqual([8])
  expect(endOf({ type: "opened" }, frame(attached(7)), frame(release(9)))).toBe("out_of_step")
})

test("an unreadable command ends the attempt, any other unreadable frame is answered and passed over", () => {
  expect(endOf(...begun, { type: "unreadable", message: "bad", seq: 1 })).toBe("out_of_step")
  const { phase, effects } = play(...begun, { type: "unreadable", message: "bad" })
  expect(phase.phase).toBe("attached")
  expect(effects.at(-1)).toEqual({ do: "complain", message: "bad" })
})

test("a renewal under another epoch ends the attempt", () => {
  const renewed = (epoch: Epoch): AttemptEvent =>
    frame({ kind: "renewed", requestId: newId("req"), lease: { ...lease, epoch } })
  expect(endOf(...begun, renewed(lease.epoch))).toBe("attached")
  expect(endOf(...begun, renewed(Epoch.parse(4)))).toBe("out_of_step")
})

test("whatever arrives, commands are applied once and in order, and an attempt ends at most once", () => {
  const events = fc.array(
    fc.oneof(
      fc.integer({ min: 1, max: 12 }).map((seq) => frame(release(seq))),
      fc.constant<AttemptEvent>({ type: "opened" }),
      fc.integer({ min: 0, max: 3 }).map((seq) => frame(attached(seq))),
      fc.constant<AttemptEvent>({ type: "closed", detail: "gone" }),
      fc.constant<AttemptEvent>({ type: "overdue", detail: "late" }),
      fc.constant<AttemptEvent>({ type: "unreadable", message: "bad" }),
      fc.constant<AttemptEvent>({ type: "stop" }),
    ),
    { maxLength: 40 },
  )
  fc.assert(
    fc.property(events, (history) => {
      const { effects } = play(...history)
      const applied = effects.flatMap((effect) => (effect.do === "apply" ? [effect.seq] : []))
      const start = effects.find((effect) => effect.do === "adopt")
      const first = start?.do === "adopt" ? start.attached.commandSeq : 0
      expect(applied).toEqual(applied.map((_, index) => first + 1 + index))
      const ends = effects.filter((effect) => effect.do === "end")
      expect(ends.length).toBeLessThanOrEqual(1)
      if (ends.length === 1) expect(effects.at(-1)?.do).toBe("end")
    }),
    { numRuns: 2_000 },
  )
})

test("backoff has full jitter, doubles, and never exceeds its ceiling", () => {
  expect(backoffMs(1, 0)).toBe(0)
  expect(backoffMs(1, 0.999)).toBeLessThan(backoffFirstMs)
  expect(backoffMs(3, 0.5)).toBe(backoffFirstMs * 2)
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000 }),
      fc.double({ min: 0, max: 0.999_999, noNaN: true }),
      (failures, random) => {
        const delay = backoffMs(failures, random)
        expect(delay).toBeGreaterThanOrEqual(0)
        expect(delay).toBeLessThan(backoffMaxMs)
      },
    ),
  )
})
