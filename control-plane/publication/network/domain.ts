/**
 * What an entry of an allowlist names: one host, or `*.` and a name for any depth below that name, which is itself not
 * meant. A wildcard below a registry's suffix (`*.com`, `*.co.uk`) would grant most of the world and is refused. Pure.
 */
import { ok, type Result } from "@computerd/protocol/errors"
import { getPublicSuffix } from "tldts"
import { invalid } from "../definition/field.ts"
import { parseHostName } from "./name.ts"

const wildcard = "*."

export const parseDomain = (value: unknown, field: string): Result<string> => {
  const isWildcard = typeof value === "string" && value.startsWith(wildcard)
  const name = parseHostName(isWildcard ? value.slice(wildcard.length) : value, field)
  if (!name.ok || !isWildcard) return name
  return getPublicSuffix(name.value) === name.value
    ? invalid(field, "must name a domain of its own below the wildcard, not a public suffix")
    : ok(`${wildcard}${name.value}`)
}
