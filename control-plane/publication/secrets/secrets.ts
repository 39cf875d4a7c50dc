/** The secrets of a Template and their normal form: ordered by variable, origins ordered and distinct. Pure. */
import { ok, type Result } from "@computerd/protocol/errors"
import type { TemplateSecret } from "@computerd/protocol/policies"
import { invalid } from "../definition/field.ts"
import { itemsOf, membersOf } from "../definition/members.ts"
import { parseOrigin } from "./origin.ts"
import { parseVariable } from "./variable.ts"

export const secretsMax = 64
export const originsMax = 16

/** Keys of secrets have the form of other keys, with the underscore that variables are written with. */
const secretName = /^[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_])?$/

const parseName = (value: unknown, field: string): Result<string> =>
  typeof value === "string" && secretName.test(value)
    ? ok(value)
    : invalid(field, "must be the name of a secret: 1-128 of letters, digits, _ and inner . -")

const parseOrigins = (value: unknown, field: string): Result<readonly string[]> => {
  const origins = itemsOf(value, { max: originsMax, item: parseOrigin }, field)
  if (!origins.ok) return origins
  return origins.value.length === 0
    ? invalid(field, "must not be empty: a protected secret is usable only at these origins")
    : ok([...new Set(origins.value)].sort())
}

const parseEnv = (value: unknown, field: string): Result<TemplateSecret["env"]> => {
  const members = membersOf(value, ["name", "mode", "allowedOrigins"], field)
  if (!members.ok) return members
  const name = parseVariable(members.value.name, `${field}.name`)
  if (!name.ok) return name
  if (members.value.mode !== "protected") return invalid(`${field}.mode`, 'must be "protected"')
  const allowedOrigins = parseOrigins(members.value.allowedOrigins, `${field}.allowedOrigins`)
  if (!allowedOrigins.ok) return allowedOrigins
  return ok({ name: name.value, mode: "protected", allowedOrigins: allowedOrigins.value })
}

const parseSecret = (value: unknown, field: string): Result<TemplateSecret> => {
  const members = membersOf(value, ["secret", "env"], field)
  if (!members.ok) return members
  const secret = parseName(members.value.secret, `${field}.secret`)
  if (!secret.ok) return secret
  const env = parseEnv(members.value.env, `${field}.env`)
  return env.ok ? ok({ secret: secret.value, env: env.value }) : env
}

/** Absent: none. */
export const parseSecrets = (value: unknown, field: string): Result<TemplateSecret[]> => {
  if (value === undefined) return ok([])
  const secrets = itemsOf(value, { max: secretsMax, item: parseSecret }, field)
  if (!secrets.ok) return secrets
  const names = secrets.value.map(({ env }) => env.name)
  const twice = names.findIndex((name, index) => names.indexOf(name) !== index)
  if (twice !== -1) return invalid(`${field}[${twice}].env.name`, "is the variable of another secret too")
  return ok(secrets.value.toSorted((a, b) => (a.env.name < b.env.name ? -1 : 1)))
}
