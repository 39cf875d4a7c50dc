/**
 * Which ranges an entry may name. Pure.
 *
 * N1 a range is public as a whole, or private (RFC 1918) as a whole and inside what the installation approved
 * N2 nothing is approved unless the installation says so
 */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { contains, overlaps, type Range, readRange } from "./range.ts"

/** Private ranges that Templates of this installation may reach. */
export type Ceiling = readonly Range[]

const known = (...texts: readonly string[]): readonly Range[] =>
  texts.flatMap((text) => readRange(text) ?? [])

const privateRanges = known("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")

/** The IANA registry of special-purpose addresses, without the private ones: nothing there answers to a public name. */
const specialRanges = known(
  "0.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
)

const touches = (range: Range, others: readonly Range[]): boolean =>
  others.some((other) => overlaps(range, other))
const liesIn = (range: Range, others: readonly Range[]): boolean =>
  others.some((other) => contains(other, range))

/** What is wrong with naming this range, continuing from the name of the field; `undefined` when nothing is. */
export const rangeProblem = (range: Range, ceiling: Ceiling): string | undefined => {
  if (touches(range, specialRanges)) return "must hold no special-purpose address, which is never reachable"
  if (!touches(range, privateRanges) || liesIn(range, ceiling)) return undefined
  return liesIn(range, privateRanges)
    ? "is private and not within what this installation approved"
    : "must not mix public and private addresses"
}

/** What the operator approved; each must be private as a whole. */
export const parseCeiling = (texts: readonly string[]): Result<Ceiling> => {
  const ranges: Range[] = []
  for (const [index, text] of texts.entries()) {
    const range = readRange(text)
    if (range === undefined || !liesIn(range, privateRanges))
      return fail(
        "invalid_configuration",
        "a private range must lie in 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16, such as 10.60.0.0/16",
        `privateRanges[${index}]`,
      )
    ranges.push(range)
  }
  return ok(ranges)
}
