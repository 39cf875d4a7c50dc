/** One place that configuration comes from: its values, and how an error names a key there. */
import type { ConfigurationKey } from "./fields.ts"

export interface ConfigurationSource {
  readonly values: ReadonlyMap<ConfigurationKey, unknown>
  /** What a mistake there is: one of the command line, or one of the configuration. */
  readonly blame: "invalid_arguments" | "invalid_configuration"
  readonly nameOf: (key: ConfigurationKey) => string
}
