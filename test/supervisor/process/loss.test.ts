import { expect, test } from "bun:test"
import type { ExitReason } from "@computerd/protocol/link"
import { afterLoss, type Loss, lossPolicy } from "@computerd/supervisor/process/loss"
import { type InheritedFacts, inheritance } from "@computerd/supervisor/process/reattach"
import fc from "fast-check"

const loss = (part: Partial<Loss> = {}): Loss => ({
  reason: { kind: "signal", signal: "SIGKILL" },
  blame: "program",
  turn: "none",
  session: "free",
  earlier: [],
  atMs: 1_000_000,
  random: 0,
  ...part,
})

test("LO1 the first loss is repaired at once, later ones after a doubling wait with jitter and an upper bound", () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (random) => {
      let earlier: readonly number[] = []
      for (let count = 1; count <= lossPolicy.attemptsMax; count += 1) {
        const sequel = afterLoss(loss({ earlier, random }))
        expect(sequel).toMatchObject({ next: "restart", name: "lost" })
        const full = count === 1 ? 0 : lossPolicy.firstDelayMs * 2 ** (count - 2)
        expect(sequel.delayMs).toBeLessThanOrEqual(Math.min(full, lossPolicy.delayMaxMs))
        expect(sequel.delayMs).toBeGreaterThanOrEqual(Math.floor(Math.min(full, lossPolicy.delayMaxMs) / 2))
        earlier = sequel.losses
      }
    }),
  )
})

test("LO2 within any window no more processes are started than the policy allows, whatever the course", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 240_000 }), { maxLength: 80 }), (gaps) => {
      let losses: readonly number[] = []
      let at = 0
      let held = false
      const restarts: number[] = []
      for (const gap of gaps) {
        at += gap
        const sequel = afterLoss(loss({ earlier: losses, atMs: at }))
        losses = sequel.losses
        if (sequel.next === "restart") restarts.push(at)
        held = sequel.next === "hold"
        if (held) break
        const inWindow = restarts.filter((time) => at - time <= lossPolicy.windowMs)
        expect(inWindow.length).toBeLessThanOrEqual(lossPolicy.attemptsMax)
      }
      if (held) expect(losses).toEqual([])
    }),
  )
})

test("LO2 losses that are far apart never add up, and a clock that leaps either way adds none", () => {
  let losses: readonly number[] = []
  for (let count = 0; count < 50; count += 1) {
    const sequel = afterLoss(loss({ earlier: losses, atMs: count * (lossPolicy.windowMs + 1) }))
    expect(sequel).toMatchObject({ next: "restart", delayMs: 0 })
    losses = sequel.losses
  }
  const day = 86_400_000
  const full = Array.from({ length: lossPolicy.attemptsMax }, (_, index) => 10 * day + index)
  expect(afterLoss(loss({ earlier: full, atMs: 10 * day + 9 }))).toMatchObject({ name: "lost_too_often" })
  for (const atMs of [9 * day, 11 * day])
    expect(afterLoss(loss({ earlier: full, atMs }))).toMatchObject({ next: "restart", losses: [atMs] })
})

test.each<[string, Partial<Loss>, string, string]>([
  ["LO3 a lost Turn is left to a person", { turn: "lost" }, "hold", "turn_lost"],
  ["LO3 even when its surroundings ended it", { turn: "lost", blame: "surroundings" }, "hold", "turn_lost"],
  ["LO3 even under a hold", { turn: "lost", session: "held" }, "hold", "turn_lost"],
  ["LO3 a failed init is", { reason: { kind: "init_failed", message: "x" } }, "hold", "program_failed"],
  [
    "LO3 a program that cannot be loaded is",
    { reason: { kind: "load_failed", message: "x" } },
    "hold",
    "program_failed",
  ],
  ["LO3 an init without end is", { reason: { kind: "start_timeout", afterMs: 1 } }, "hold", "program_failed"],
  [
    "LO4 a failed init under a hold counts for nothing",
    { session: "held", reason: { kind: "init_failed", message: "x" } },
    "after_release",
    "held",
  ],
  ["LO4 so does a death", { session: "held" }, "after_release", "held"],
  ["LO5 what its surroundings ended is started again", { blame: "surroundings" }, "restart", "surroundings"],
  [
    "LO1 what could not be started is tried again",
    { reason: { kind: "spawn_failed", message: "x" } },
    "restart",
    "lost",
  ],
])("%s", (_title, part, next, name) => {
  const earlier = [999_000]
  const sequel = afterLoss(loss({ earlier, ...part }))
  expect([sequel.next, sequel.name] as string[]).toEqual([next, name])
  if (name !== "lost") expect([sequel.delayMs, sequel.losses]).toEqual([0, earlier])
})

const facts = (part: Partial<InheritedFacts> = {}): InheritedFacts => ({
  process: "lives",
  boot: "same",
  port: { told: 20_000, bound: 20_000 },
  known: undefined,
  ...part,
})

test("RA1 RA2 RA3 only the very process that can come back is taken over; how it ended is never made up", () => {
  const known: ExitReason = { kind: "code", code: 7 }
  expect(inheritance(facts())).toEqual({ do: "adopt" })
  expect(inheritance(facts({ process: "gone", known }))).toEqual({
    do: "replace",
    blame: "program",
    reason: known,
  })
  const every = fc.record<InheritedFacts>({
    process: fc.constantFrom("lives", "gone", "unknown"),
    boot: fc.constantFrom("same", "another"),
    port: fc.record({ told: fc.constantFrom(1, 2, undefined), bound: fc.constantFrom(1, 2) }),
    known: fc.constantFrom(undefined, known),
  })
  fc.assert(
    fc.property(every, (each) => {
      const decision = inheritance(each)
      const canComeBack =
        each.process === "lives" && each.boot === "same" && each.port.told === each.port.bound
      expect(decision.do).toBe(canComeBack ? "adopt" : "replace")
      if (decision.do === "adopt" || decision.reason === known) return
      expect(["unknown", "not_reattached"]).toContain(decision.reason.kind)
    }),
  )
})
