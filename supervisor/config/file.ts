/** The configuration file: one JSON object whose keys are those of the schema. */
import { readFile } from "node:fs/promises"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { type ConfigurationKey, isConfigurationKey } from "./fields.ts"
import type { ConfigurationSource } from "./source.ts"

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  EACCES: "may not be read by this user",
  EISDIR: "is a directory",
}

const readTextFile = async (path: string): Promise<Result<string>> => {
  try {
    return ok(await readFile(path, "utf8"))
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable"
    return fail(
      "invalid_configuration",
      `configuration file ${path} ${reasons[code] ?? `cannot be read (${code})`}`,
    )
  }
}

const parseObject = (path: string, text: string): Result<object> => {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return ok(value)
  } catch (error) {
    const detail = error instanceof Error ? error.message : "unknown error"
    return fail("invalid_configuration", `configuration file ${path} is not JSON: ${detail}`)
  }
  return fail("invalid_configuration", `configuration file ${path} must hold one JSON object`)
}

export const readConfigurationFile = async (path: string): Promise<Result<ConfigurationSource>> => {
  const text = await readTextFile(path)
  if (!text.ok) return text
  const object = parseObject(path, text.value)
  if (!object.ok) return object
  const values = new Map<ConfigurationKey, unknown>()
  for (const [key, value] of Object.entries(object.value)) {
    if (!isConfigurationKey(key))
      return fail("invalid_configuration", `${key} in ${path} is not a known key`, key)
    values.set(key, value)
  }
  return ok({ values, blame: "invalid_configuration", nameOf: (key) => `${key} in ${path}` })
}
