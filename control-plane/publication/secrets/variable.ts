/** Names of environment variables that a secret may take. Pure. */
import { ok, type Result } from "@computerd/protocol/errors"
import { invalid } from "../definition/field.ts"

const form = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/
/** What decides how a Session process is found, loaded or connected is not an author's to set. */
const reserved = /^(?:(?:HELMR|BUN|NODE|LD|LC)_|.*_proxy$)/i
const reservedNames: ReadonlySet<string> = new Set([
  "PATH",
  "HOME",
  "LANG",
  "TZ",
  "TMPDIR",
  "USER",
  "SHELL",
  "TERM",
])

export const parseVariable = (value: unknown, field: string): Result<string> => {
  if (typeof value !== "string" || !form.test(value))
    return invalid(field, "must be 1-128 of letters, digits and _, not starting with a digit")
  return reserved.test(value) || reservedNames.has(value.toUpperCase())
    ? invalid(field, "is reserved; choose another variable")
    : ok(value)
}
