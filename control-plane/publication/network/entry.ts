/** One entry of an allowlist. Pure. */
import { ok, type Result } from "@computerd/protocol/errors"
import type { AllowedDomain } from "@computerd/protocol/policies"
import { invalid } from "../definition/field.ts"
import { itemsOf, membersOf } from "../definition/members.ts"
import { parseDomain } from "./domain.ts"
import { type Range, readRange, showRange, smallestCover } from "./range.ts"
import { type Ceiling, rangeProblem } from "./reach.ts"

export const rangesMax = 64

const parseRange = (value: unknown, ceiling: Ceiling, field: string): Result<Range> => {
  const range = typeof value === "string" ? readRange(value) : undefined
  if (range === undefined)
    return invalid(field, "must be an IPv4 range from its first address, such as 10.60.12.0/24")
  const problem = rangeProblem(range, ceiling)
  return problem === undefined ? ok(range) : invalid(field, problem)
}

const parseBounded = (value: unknown, ceiling: Ceiling, field: string): Result<AllowedDomain> => {
  const members = membersOf(value, ["domain", "ipRanges"], field)
  if (!members.ok) return members
  const domain = parseDomain(members.value.domain, `${field}.domain`)
  if (!domain.ok) return domain
  const at = `${field}.ipRanges`
  const item = (one: unknown, where: string): Result<Range> => parseRange(one, ceiling, where)
  const ranges = itemsOf(members.value.ipRanges, { max: rangesMax, item }, at)
  if (!ranges.ok) return ranges
  if (ranges.value.length === 0)
    return invalid(at, "must not be empty; write the domain alone for its public addresses")
  return ok({ domain: domain.value, ipRanges: smallestCover(ranges.value).map(showRange) })
}

export const parseEntry = (value: unknown, ceiling: Ceiling, field: string): Result<AllowedDomain> => {
  if (typeof value === "string") return parseDomain(value, field)
  if (typeof value === "object" && value !== null) return parseBounded(value, ceiling, field)
  return invalid(field, "must be a host name or { domain, ipRanges }")
}
