/** One place that configuration comes from: its values, and how an error names a key there. */
import type { ConfigurationKey } from "./fields.ts"

export interface ConfigurationSource {
  readonly values: ReadonlyMap<ConfigurationKey, unknown>
  readonly nameOf: (key: ConfigurationKey) => string
}
