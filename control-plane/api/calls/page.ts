/** An installation may give smaller pages than were asked for. */
import type { ApiSettings } from "../settings.ts"

export const bounded = <Asked extends { readonly limit: number }>(
  asked: Asked,
  { pageMax }: ApiSettings,
): Asked => ({ ...asked, limit: Math.min(asked.limit, pageMax) })
