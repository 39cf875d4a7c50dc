/** Host names: lower-case, in their ASCII form, without the dot of the root. Pure. */
import { ok, type Result } from "@computerd/protocol/errors"
import { invalid } from "../definition/field.ts"

const nameMax = 253
/** Longer text cannot be a name in any script; it is not looked at. */
const writtenMax = 1024
const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
/** What a URL parser reads as the end of an IPv4 address, in any of its notations. */
const numeric = /^(?:\d+|0x[\da-f]*)$/
const ascii = /^[A-Za-z0-9.-]*$/
const written = /^[\p{L}\p{M}\p{N}.-]*$/u

/** By the rules that a URL's host follows; `undefined` when they refuse it. */
const toAscii = (name: string): string | undefined => {
  try {
    return new URL(`https://${name}/`).hostname
  } catch {
    return undefined
  }
}

/** ASCII stays as it is, so that no conversion decides what it is read as; only punycode has to be well-formed. */
const canonical = (text: string): string | undefined => {
  const name = text.replace(/\.$/, "")
  if (!ascii.test(name)) return written.test(name) ? toAscii(name) : undefined
  const lower = name.toLowerCase()
  if (!/(?:^|\.)xn--/.test(lower)) return lower
  return toAscii(lower) === lower ? lower : undefined
}

/** The name in normal form. An address is no name, and neither is what has no dot. */
export const parseHostName = (value: unknown, field: string): Result<string> => {
  if (typeof value !== "string") return invalid(field, "must be a host name such as api.example.com")
  const name = value.length > writtenMax ? undefined : canonical(value)
  const labels = name?.split(".") ?? []
  if (name === undefined || name.length > nameMax || !labels.every((one) => label.test(one)))
    return invalid(field, "is not a host name such as api.example.com")
  if (numeric.test(labels.at(-1) ?? ""))
    return invalid(field, "must be a host name; an address stands in ipRanges beside one")
  if (labels.length < 2 || labels.at(-1) === "localhost")
    return invalid(field, "must be a full host name, such as api.example.com")
  return ok(name)
}
