/**
 * A network policy and its normal form. Pure.
 *
 * N3 an allowlist and `blockAll` exclude each other, and one of them is given
 * N4 an empty allowlist is `{ blockAll: true }`; no policy is `{ blockAll: false }`
 * N5 entries are ordered and distinct, and never merged: an entry must allow a connection alone, so two entries of one
 *    name grant less than one with the ranges of both
 */
import { ok, type Result } from "@computerd/protocol/errors"
import { policyMaxBytes } from "@computerd/protocol/limits"
import type { AllowedDomain, NetworkPolicy } from "@computerd/protocol/policies"
import { invalid } from "../definition/field.ts"
import { itemsOf, membersOf } from "../definition/members.ts"
import { parseEntry } from "./entry.ts"
import type { Ceiling } from "./reach.ts"

export const entriesMax = 256

export const ordinaryNetwork: NetworkPolicy = { blockAll: false }
export const blockedNetwork: NetworkPolicy = { blockAll: true }

/** Orders entries by name, those without ranges first. A name holds no space. */
const entryKey = (entry: AllowedDomain): string =>
  typeof entry === "string" ? entry : `${entry.domain} ${entry.ipRanges.join(" ")}`

const distinct = (entries: readonly AllowedDomain[]): readonly AllowedDomain[] => {
  const byKey = new Map(entries.map((entry) => [entryKey(entry), entry]))
  return [...byKey].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry)
}

const parseAllowlist = (value: unknown, ceiling: Ceiling, field: string): Result<NetworkPolicy> => {
  const item = (one: unknown, where: string): Result<AllowedDomain> => parseEntry(one, ceiling, where)
  const entries = itemsOf(value, { max: entriesMax, item }, field)
  if (!entries.ok) return entries
  if (entries.value.length === 0) return ok(blockedNetwork)
  const allowDomains = distinct(entries.value)
  return JSON.stringify(allowDomains).length > policyMaxBytes
    ? invalid(field, `must not be longer than ${policyMaxBytes} bytes`)
    : ok({ allowDomains })
}

/** A policy that is given. */
export const parseNetwork = (value: unknown, ceiling: Ceiling, field: string): Result<NetworkPolicy> => {
  const members = membersOf(value, ["allowDomains", "blockAll"], field)
  if (!members.ok) return members
  const { allowDomains, blockAll } = members.value
  if (allowDomains === undefined && blockAll === undefined)
    return invalid(field, "must have allowDomains or blockAll; leave it out for ordinary connectivity")
  if (blockAll === undefined) return parseAllowlist(allowDomains, ceiling, `${field}.allowDomains`)
  if (typeof blockAll !== "boolean") return invalid(`${field}.blockAll`, "must be a boolean")
  if (allowDomains !== undefined) return invalid(`${field}.blockAll`, "must not be given with allowDomains")
  return ok(blockAll ? blockedNetwork : ordinaryNetwork)
}
