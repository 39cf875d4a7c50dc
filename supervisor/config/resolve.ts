/**
 * Configuration, resolved once at boot into a complete value: file, then environment, then flags, the later over the
 * earlier. A bad value stops the boot with an error that names the key and where it was written, never the value.
 */
import { stat } from "node:fs/promises"
import { SupervisorConfiguration } from "@computerd/protocol/configuration"
import { type ErrorCode, fail, ok, type Result } from "@computerd/protocol/errors"
import { type Issue, judgeAll } from "@computerd/protocol/judge"
import { readCredential } from "./credential.ts"
import { type Environment, fileVariable, readEnvironment } from "./environment.ts"
import { type ConfigurationKey, configurationFields, isConfigurationKey } from "./fields.ts"
import { readConfigurationFile } from "./file.ts"
import { readFlags } from "./flags.ts"
import type { ConfigurationSource } from "./source.ts"

export type ResolvedConfig = SupervisorConfiguration

export interface ConfigurationInputs {
  readonly argv: readonly string[]
  readonly environment: Environment
}

const noFile: ConfigurationSource = {
  values: new Map(),
  blame: "invalid_configuration",
  nameOf: (key) => key,
}

const readSources = async (inputs: ConfigurationInputs): Promise<Result<readonly ConfigurationSource[]>> => {
  const flags = readFlags(inputs.argv)
  if (!flags.ok) return flags
  const environment = readEnvironment(inputs.environment)
  if (!environment.ok) return environment
  const path = flags.value.file ?? (inputs.environment[fileVariable] || undefined)
  const file = path === undefined ? ok(noFile) : await readConfigurationFile(path)
  return file.ok ? ok([file.value, environment.value, flags.value.source]) : file
}

const keyAt = (field: string): string => /^[A-Za-z]+/.exec(field)?.[0] ?? ""

/** Where the value of a field was written. */
const sourceOf = (
  field: string,
  sources: readonly ConfigurationSource[],
): ConfigurationSource | undefined => {
  const key = keyAt(field)
  return isConfigurationKey(key) ? sources.findLast(({ values }) => values.has(key)) : undefined
}

const nameAt = (field: string, sources: readonly ConfigurationSource[]): string => {
  const key = keyAt(field)
  if (!isConfigurationKey(key)) return field
  return sourceOf(field, sources)?.nameOf(key).replace(key, field) ?? field
}

/** It is the command line alone when every field is wrong there. */
const blame = (fields: readonly string[], sources: readonly ConfigurationSource[]): ErrorCode =>
  fields.every((field) => sourceOf(field, sources)?.blame === "invalid_arguments")
    ? "invalid_arguments"
    : "invalid_configuration"

const missing = (key: ConfigurationKey): string => {
  const { variable, flag } = configurationFields[key]
  return `${key} is missing; set it in the file, as ${variable} or with ${flag}`
}

const judge = (sources: readonly ConfigurationSource[]): Result<ResolvedConfig> => {
  const merged = new Map(sources.flatMap(({ values }) => [...values]))
  const judged = judgeAll(SupervisorConfiguration, Object.fromEntries(merged))
  if (judged.ok) return judged
  const problem = ({ field, message }: Issue): string =>
    isConfigurationKey(field) && !merged.has(field) ? missing(field) : `${nameAt(field, sources)}: ${message}`
  const fields = judged.error.map(({ field }) => field)
  return fail(blame(fields, sources), judged.error.map(problem).join("; "), judged.error[0].field)
}

const isDirectory = async (path: string): Promise<boolean> => {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}

/** What the schema cannot see: that the named files are there and fit for their purpose. */
const checkFiles = async (
  config: ResolvedConfig,
  sources: readonly ConfigurationSource[],
): Promise<Result<ResolvedConfig>> => {
  if (!(await isDirectory(config.workspace)))
    return fail(
      blame(["workspace"], sources),
      `${nameAt("workspace", sources)}: ${config.workspace} is not a directory`,
      "workspace",
    )
  const credential = readCredential(config.credentialFile)
  if (credential.ok) return ok(config)
  const message = `${nameAt("credentialFile", sources)}: ${credential.error.message}`
  return fail(blame(["credentialFile"], sources), message, "credentialFile")
}

export const resolveConfiguration = async (inputs: ConfigurationInputs): Promise<Result<ResolvedConfig>> => {
  const sources = await readSources(inputs)
  if (!sources.ok) return sources
  const config = judge(sources.value)
  return config.ok ? checkFiles(config.value, sources.value) : config
}
