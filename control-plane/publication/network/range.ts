/** IPv4 ranges in CIDR notation: reading, comparing and the smallest list that covers the same addresses. Pure. */
import ipaddr from "ipaddr.js"

export interface Range {
  /** The first address, as a number. */
  readonly first: number
  /** How many leading bits all of its addresses share. */
  readonly prefix: number
}

const bits = 32

const size = ({ prefix }: Range): number => 2 ** (bits - prefix)
const last = (range: Range): number => range.first + size(range) - 1

export const showRange = ({ first, prefix }: Range): string => {
  const octets = [24, 16, 8, 0].map((shift) => (first >>> shift) & 255)
  return `${octets.join(".")}/${prefix}`
}

/** `undefined` for anything but four decimal parts, a prefix, and no bit set behind it, each number written in one way. */
export const readRange = (text: string): Range | undefined => {
  if (!ipaddr.IPv4.isValidCIDRFourPartDecimal(text)) return undefined
  const [address, prefix] = ipaddr.IPv4.parseCIDR(text)
  const first = address.octets.reduce((sum, octet) => sum * 256 + octet, 0)
  const range = { first, prefix }
  return first % size(range) === 0 && showRange(range) === text ? range : undefined
}

export const contains = (outer: Range, inner: Range): boolean =>
  outer.first <= inner.first && last(inner) <= last(outer)

/** Two ranges in CIDR notation overlap only when one contains the other. */
export const overlaps = (a: Range, b: Range): boolean => contains(a, b) || contains(b, a)

/** The two halves of one range. */
const areHalves = (low: Range, high: Range): boolean =>
  low.prefix === high.prefix && last(low) + 1 === high.first && low.first % (2 * size(low)) === 0

/** Adds a range that starts no earlier than the covered ones; `covered` is minimal and stays so. */
const cover = (covered: readonly Range[], range: Range): readonly Range[] => {
  const previous = covered.at(-1)
  if (previous === undefined) return [range]
  if (contains(previous, range)) return covered
  if (!areHalves(previous, range)) return [...covered, range]
  return cover(covered.slice(0, -1), { first: previous.first, prefix: previous.prefix - 1 })
}

/** In ascending order. Lists that cover the same addresses give the same list. */
export const smallestCover = (ranges: readonly Range[]): readonly Range[] =>
  ranges.toSorted((a, b) => a.first - b.first || a.prefix - b.prefix).reduce<readonly Range[]>(cover, [])
