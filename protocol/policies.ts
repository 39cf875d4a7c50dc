/**
 * The network and secret policies of a Template in their normal form: what publication resolves, a Deployment pins and a
 * reader sees. It is written in the author's own grammar, so what was read can be published again.
 */
import { z } from "zod"

/**
 * A host name, or `*.` and a name for everything below it, at public addresses. The second form bounds every address of
 * that name to IPv4 ranges.
 */
export const AllowedDomain = z.union([
  z.string(),
  z.strictObject({ domain: z.string(), ipRanges: z.array(z.string()).min(1).readonly() }).readonly(),
])
export type AllowedDomain = z.infer<typeof AllowedDomain>

/** Ordinary connectivity is `{ blockAll: false }`; an empty allowlist is `{ blockAll: true }`. */
export const NetworkPolicy = z.union([
  z.strictObject({ blockAll: z.boolean() }).readonly(),
  z.strictObject({ allowDomains: z.array(AllowedDomain).min(1).readonly() }).readonly(),
])
export type NetworkPolicy = z.infer<typeof NetworkPolicy>

/** Names a secret; the value is nowhere in a Deployment. */
export const TemplateSecret = z
  .strictObject({
    secret: z.string(),
    env: z
      .strictObject({
        name: z.string(),
        /** The value never enters the Computer; it is put into requests to these origins only. */
        mode: z.literal("protected"),
        allowedOrigins: z.array(z.string()).min(1).readonly(),
      })
      .readonly(),
  })
  .readonly()
export type TemplateSecret = z.infer<typeof TemplateSecret>
