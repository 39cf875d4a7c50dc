/**
 * What follows the end of a Session process. Pure: times and the random number come in.
 *
 * LO1 a process that was lost with no Turn in it is replaced: the first time at once, then after a doubling wait
 * LO2 after `attemptsMax` replacements within the window, a person decides
 * LO3 a lost Turn, a program that cannot be loaded and an `init` that fails are left to a person at once
 * LO4 under a hold nothing starts and no loss counts: the release starts the next generation
 * LO5 a loss that its surroundings brought about is repaired and never counted
 */
import type { ExitReason } from "@computerd/protocol/link"

export interface LossPolicy {
  readonly attemptsMax: number
  /** A loss counts for this long. */
  readonly windowMs: number
  readonly firstDelayMs: number
  readonly delayMaxMs: number
}

/** Six losses end in a hold after four seconds at the least, and in no more starts than that in ten minutes. */
export const lossPolicy: LossPolicy = {
  attemptsMax: 5,
  windowMs: 10 * 60_000,
  firstDelayMs: 250,
  delayMaxMs: 30_000,
}

/** Of the wait; so many processes that were lost together do not come back together. */
const jitterShare = 0.5

export interface Loss {
  readonly reason: ExitReason
  /** Whose doing: the program's own, or that of its machine and its supervisor. */
  readonly blame: "program" | "surroundings"
  readonly turn: "none" | "lost"
  readonly session: "free" | "held"
  /** Wall times of earlier losses that still counted. */
  readonly earlier: readonly number[]
  readonly atMs: number
  /** In [0, 1). */
  readonly random: number
}

export type LossName = "turn_lost" | "held" | "program_failed" | "surroundings" | "lost" | "lost_too_often"

export interface Sequel {
  readonly next: "restart" | "after_release" | "hold"
  readonly name: LossName
  /** Before the start. */
  readonly delayMs: number
  readonly losses: readonly number[]
}

const failsAgain: readonly ExitReason["kind"][] = ["load_failed", "init_failed", "start_timeout"]

const delayAfter = (count: number, random: number, policy: LossPolicy): number => {
  if (count <= 1) return 0
  const full = Math.min(policy.delayMaxMs, policy.firstDelayMs * 2 ** Math.min(count - 2, 20))
  return Math.round(full * (1 - jitterShare * random))
}

/** The wall clock may have leapt either way meanwhile; a loss far from now in either direction is old. */
const counted = (loss: Loss, policy: LossPolicy): readonly number[] =>
  loss.earlier.filter((at) => Math.abs(loss.atMs - at) <= policy.windowMs)

export const afterLoss = (loss: Loss, policy: LossPolicy = lossPolicy): Sequel => {
  const earlier = counted(loss, policy)
  const uncounted = { delayMs: 0, losses: earlier }
  if (loss.turn === "lost") return { next: "hold", name: "turn_lost", ...uncounted }
  if (loss.session === "held") return { next: "after_release", name: "held", ...uncounted }
  if (loss.blame === "surroundings") return { next: "restart", name: "surroundings", ...uncounted }
  if (failsAgain.includes(loss.reason.kind)) return { next: "hold", name: "program_failed", ...uncounted }
  const losses = [...earlier, loss.atMs]
  if (losses.length > policy.attemptsMax)
    return { next: "hold", name: "lost_too_often", delayMs: 0, losses: [] }
  return { next: "restart", name: "lost", delayMs: delayAfter(losses.length, loss.random, policy), losses }
}
