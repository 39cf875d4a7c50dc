/** What every list takes. */
import type { CallOptions } from "./options.ts"

export interface PageOptions extends CallOptions {
  /** The `nextCursor` of the page before, asked for with the same filters. */
  readonly cursor?: string | undefined
  /** At most 100. Default: 50. */
  readonly limit?: number | undefined
}

export const pageOf = ({ cursor, limit }: PageOptions) => ({ cursor, limit })
