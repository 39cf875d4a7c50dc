/** What is done to a world and when: the same for the same seed. Pure. */
import { type Random, seeded } from "./random.ts"

const faultKinds = [
  "kill supervisor",
  "kill Session process",
  "kill control plane",
  "cut links",
  "cut links with frames under way",
  "lose an answer",
  "delay frames",
  "duplicate frames",
  "overtake frames",
  "freeze supervisor",
  "freeze Session process",
  "freeze control plane",
  "fill the disk",
] as const
export type FaultKind = (typeof faultKinds)[number]

export interface Fault {
  readonly kind: FaultKind
  readonly atMs: number
  /** Of what passes by itself. */
  readonly lastsMs: number
  /** In [0, 1): which of those that are there then. */
  readonly target: number
}

/** How often each comes, in relation to the others. */
const weights: Readonly<Record<FaultKind, number>> = {
  "kill supervisor": 5,
  "kill Session process": 4,
  "kill control plane": 2,
  "cut links": 2,
  "cut links with frames under way": 2,
  "lose an answer": 3,
  "delay frames": 1,
  "duplicate frames": 2,
  "overtake frames": 2,
  "freeze supervisor": 2,
  "freeze Session process": 2,
  "freeze control plane": 1,
  "fill the disk": 1,
}

const pauseMs = { low: 100, high: 800 }
/** Longer than the lease of a world now and then. */
const lasts = { shortMs: 200, longMs: 1_500, longestMs: 5_000, longestShare: 0.1 }

const kindFor = (random: Random): FaultKind => {
  const total = Object.values(weights).reduce((sum, weight) => sum + weight, 0)
  let left = random.next() * total
  for (const kind of faultKinds) {
    left -= weights[kind]
    if (left < 0) return kind
  }
  return "kill supervisor"
}

const lastsFor = (random: Random): number => {
  const isLongest = random.next() < lasts.longestShare
  return random.between(lasts.shortMs, isLongest ? lasts.longestMs : lasts.longMs)
}

export const scheduleOf = (seed: number, lengthMs: number): readonly Fault[] => {
  const random = seeded(seed)
  const faults: Fault[] = []
  for (let atMs = pauseMs.high; atMs < lengthMs; atMs += random.between(pauseMs.low, pauseMs.high))
    faults.push({ kind: kindFor(random), atMs, lastsMs: lastsFor(random), target: random.next() })
  return faults
}
