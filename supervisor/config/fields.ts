/** Every configuration key with the names it has outside the file, and how its text is read there. */
import type { SupervisorConfiguration } from "@computerd/protocol/configuration"
import { fail, ok, type Result } from "@computerd/protocol/errors"

export type ConfigurationKey = keyof SupervisorConfiguration

/** `text` is taken as it stands; `json` and `ports` have a form of their own; `switch` is true or false. */
type TextForm = "text" | "json" | "ports" | "switch"

export interface ConfigurationField {
  readonly variable: string
  readonly flag: string
  readonly form: TextForm
}

export const configurationFields: Readonly<Record<ConfigurationKey, ConfigurationField>> = {
  computerId: { variable: "COMPUTERD_COMPUTER_ID", flag: "--computer-id", form: "text" },
  controlPlaneUrl: { variable: "COMPUTERD_CONTROL_PLANE_URL", flag: "--control-plane-url", form: "text" },
  credentialFile: { variable: "COMPUTERD_CREDENTIAL_FILE", flag: "--credential-file", form: "text" },
  stateDirectory: { variable: "COMPUTERD_STATE_DIRECTORY", flag: "--state-directory", form: "text" },
  workspace: { variable: "COMPUTERD_WORKSPACE", flag: "--workspace", form: "text" },
  ports: { variable: "COMPUTERD_PORTS", flag: "--ports", form: "ports" },
  sessionHost: { variable: "COMPUTERD_SESSION_HOST", flag: "--session-host", form: "json" },
  environment: { variable: "COMPUTERD_ENVIRONMENT", flag: "--environment", form: "json" },
  limits: { variable: "COMPUTERD_LIMITS", flag: "--limits", form: "json" },
  logLevel: { variable: "COMPUTERD_LOG_LEVEL", flag: "--log-level", form: "text" },
  lifeline: { variable: "COMPUTERD_LIFELINE", flag: "--lifeline", form: "switch" },
}

export const isConfigurationKey = (name: string): name is ConfigurationKey =>
  Object.hasOwn(configurationFields, name)

export const configurationKeys: readonly ConfigurationKey[] =
  Object.keys(configurationFields).filter(isConfigurationKey)

const refuse = (problem: string): Result<never> => fail("invalid_configuration", problem)

const readJson = (text: string): Result<unknown> => {
  try {
    return ok(JSON.parse(text))
  } catch {
    return refuse("must be JSON")
  }
}

const readPorts = (text: string): Result<unknown> => {
  const match = /^(\d{1,5})-(\d{1,5})$/.exec(text)
  return match === null
    ? refuse('must be a range such as "20000-31999"')
    : ok({ first: Number(match[1]), last: Number(match[2]) })
}

const readSwitch = (text: string): Result<unknown> => {
  if (text === "true") return ok(true)
  return text === "false" ? ok(false) : refuse('must be "true" or "false"')
}

/** The value that a variable or flag stands for; the schema judges it afterwards. */
export const readText = (form: TextForm, text: string): Result<unknown> => {
  switch (form) {
    case "text":
      return ok(text)
    case "json":
      return readJson(text)
    case "ports":
      return readPorts(text)
    case "switch":
      return readSwitch(text)
  }
}
