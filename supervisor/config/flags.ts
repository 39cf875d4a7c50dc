/** Configuration from the command line: `--name value`, `--name=value`, and `--name` alone for a switch; each once. */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { type ConfigurationKey, configurationFields, configurationKeys, readText } from "./fields.ts"
import type { ConfigurationSource } from "./source.ts"

const fileFlag = "--config"

export interface Flags {
  readonly file: string | undefined
  readonly source: ConfigurationSource
}

type Taken = { readonly name: string; readonly text: string; readonly used: number }

const keyOfFlag = (flag: string): ConfigurationKey | undefined =>
  configurationKeys.find((key) => configurationFields[key].flag === flag)

const isSwitch = (flag: string): boolean => {
  const key = keyOfFlag(flag)
  return key !== undefined && configurationFields[key].form === "switch"
}

/** One flag with its value, from the front of what is left. */
const take = (argument: string, following: string | undefined): Result<Taken> => {
  const equals = argument.indexOf("=")
  if (equals !== -1) return ok({ name: argument.slice(0, equals), text: argument.slice(equals + 1), used: 1 })
  if (isSwitch(argument)) return ok({ name: argument, text: "true", used: 1 })
  if (argument !== fileFlag && keyOfFlag(argument) === undefined)
    return ok({ name: argument, text: "", used: 1 })
  if (following === undefined || following.startsWith("--"))
    return fail("invalid_arguments", `${argument} needs a value`, argument)
  return ok({ name: argument, text: following, used: 2 })
}

const unknownFlag = (name: string): Result<never> => {
  const flags = [fileFlag, ...configurationKeys.map((key) => configurationFields[key].flag)]
  return fail("invalid_arguments", `${name} is not a known flag; known are ${flags.join(", ")}`, name)
}

export const readFlags = (argv: readonly string[]): Result<Flags> => {
  const values = new Map<ConfigurationKey, unknown>()
  const given = new Set<string>()
  let file: string | undefined
  for (let at = 0; at < argv.length; ) {
    const taken = take(argv[at] ?? "", argv[at + 1])
    if (!taken.ok) return taken
    const { name, text, used } = taken.value
    at += used
    const key = keyOfFlag(name)
    if (key === undefined && name !== fileFlag) return unknownFlag(name)
    if (text === "") return fail("invalid_arguments", `${name} needs a value`, name)
    if (given.has(name)) return fail("invalid_arguments", `${name} is given twice`, name)
    given.add(name)
    if (key === undefined) {
      file = text
      continue
    }
    const value = readText(configurationFields[key].form, text)
    if (!value.ok) return fail("invalid_arguments", `${key} (${name}) ${value.error.message}`, key)
    values.set(key, value.value)
  }
  return ok({
    file,
    source: {
      values,
      blame: "invalid_arguments",
      nameOf: (key) => `${key} (${configurationFields[key].flag})`,
    },
  })
}
