/** Configuration from `COMPUTERD_…` variables. An empty variable counts as unset; a misspelled one is an error. */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { type ConfigurationKey, configurationFields, configurationKeys, readText } from "./fields.ts"
import type { ConfigurationSource } from "./source.ts"

export type Environment = Readonly<Record<string, string | undefined>>

const prefix = "COMPUTERD_"
/** Where the configuration file is; not a key of the file itself. */
export const fileVariable = "COMPUTERD_CONFIG"

const known: ReadonlySet<string> = new Set([
  fileVariable,
  ...configurationKeys.map((key) => configurationFields[key].variable),
])

export const readEnvironment = (environment: Environment): Result<ConfigurationSource> => {
  const stranger = Object.keys(environment).find((name) => name.startsWith(prefix) && !known.has(name))
  if (stranger !== undefined)
    return fail("invalid_configuration", `${stranger} in the environment is not a known variable`, stranger)
  const values = new Map<ConfigurationKey, unknown>()
  for (const key of configurationKeys) {
    const { variable, form } = configurationFields[key]
    const text = environment[variable]
    if (text === undefined || text === "") continue
    const value = readText(form, text)
    if (!value.ok) return fail("invalid_configuration", `${key} (${variable}) ${value.error.message}`, key)
    values.set(key, value.value)
  }
  return ok({
    values,
    blame: "invalid_configuration",
    nameOf: (key) => `${key} (${configurationFields[key].variable})`,
  })
}
