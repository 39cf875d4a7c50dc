/** Where a protected secret may be sent: exactly one HTTPS origin. Pure. */
import { ok, type Result } from "@computerd/protocol/errors"
import { invalid } from "../definition/field.ts"
import { parseHostName } from "../network/name.ts"

const portMax = 65_535
const defaultPort = "443"
/** A slash at the end is how people copy an origin; anything behind it is a path, which an origin has not. */
const form = /^https:\/\/([^/?#@:\s]+)(?::([1-9]\d{0,4}))?\/?$/i

/** In normal form: lower-case, without the port that HTTPS implies. */
export const parseOrigin = (value: unknown, field: string): Result<string> => {
  const match = typeof value === "string" ? form.exec(value) : null
  const port = match?.[2]
  if (match === null || Number(port ?? 0) > portMax)
    return invalid(field, "must be an HTTPS origin such as https://api.example.com, without a path")
  const host = parseHostName(match[1], field)
  if (!host.ok) return host
  return ok(`https://${host.value}${port === undefined || port === defaultPort ? "" : `:${port}`}`)
}
