/** What is done to both ends in one schedule, and when: work, and faults. Made from a seed; shrunk by leaving steps out. */
import type { Random } from "./random.ts"

const faultKinds = [
  "cut",
  "silence",
  "stall",
  "frame",
  "partition",
  "slow",
  "kill supervisor",
  "kill control plane",
  "kill supervisor at a step",
  "kill control plane at a step",
  "power cut",
  "damaged store",
  "stop supervisor",
  "stop control plane",
  "clock leaps",
  "full disk of the supervisor",
  "full disk of the control plane",
  "rival",
  "detach",
  "park",
  "process dies",
] as const
export type FaultKind = (typeof faultKinds)[number]

export type WorkKind = "spawn" | "enqueue" | "message" | "stop" | "hold" | "close" | "look" | "wait" | "shout"

export interface Action {
  readonly atMs: number
  readonly what: { readonly fault: FaultKind } | { readonly work: WorkKind }
  /** Decides what the action leaves open. */
  readonly salt: number
}

export type Plan = readonly Action[]

const horizonMs = 150_000
const actions = { least: 8, most: 34 }
const faultShare = 0.45

/** Faults that are rarely harmful alone. */
const companies: readonly (readonly FaultKind[])[] = [
  ["rival", "partition", "stall"],
  ["rival", "partition", "slow", "stall"],
  ["stop supervisor", "process dies"],
  ["rival", "partition", "stop supervisor", "stall"],
  ["power cut", "kill supervisor", "stop control plane"],
  ["kill supervisor at a step", "kill control plane at a step", "cut"],
  ["frame", "stall", "cut"],
]

/** Each schedule has a few kinds of faults, so that some meet often. */
const kindsOf = (random: Random): readonly FaultKind[] => {
  const company = random.chance(0.4) ? random.pick(companies) : undefined
  return company ?? anyKinds(random)
}

const anyKinds = (random: Random): readonly FaultKind[] =>
  Array.from({ length: random.int(1, 5) }, () => random.pick(faultKinds)).filter((kind) => kind !== undefined)

const workWeights: readonly WorkKind[] = [
  "spawn",
  "spawn",
  "enqueue",
  "enqueue",
  "enqueue",
  "message",
  "stop",
  "hold",
  "close",
  "look",
  "wait",
  "shout",
]

export const planFrom = (random: Random): Plan => {
  const kinds = kindsOf(random)
  const spread = random.chance(0.3) ? horizonMs / 5 : horizonMs
  const plan = Array.from({ length: random.int(actions.least, actions.most) }, (): Action => {
    const fault = random.chance(faultShare) ? random.pick(kinds) : undefined
    return {
      atMs: random.int(0, spread),
      what: fault === undefined ? { work: random.pick(workWeights) ?? "look" } : { fault },
      salt: random.int(0, 1_000_000),
    }
  })
  return plan.toSorted((one, other) => one.atMs - other.atMs)
}

export const describe = ({ atMs, what, salt }: Action): string =>
  `${String(atMs).padStart(7)} ms  ${"fault" in what ? `fault: ${what.fault}` : `work: ${what.work}`} (${salt})`
